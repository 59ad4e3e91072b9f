"""TOML files that people write."""

import json
import tomllib
from pathlib import Path

from ..errors import InputError
from .files import regular_file


def toml_as_json(path: str | Path, what: str) -> str:
    """The content of a TOML file as JSON, which has no dates and no infinite numbers.

    Args:
        path: the file.
        what: what the file should describe, for messages: `a sweep`.

    Raises:
        InputError: if the file is missing, is not TOML, or holds values that JSON cannot.
    """
    place = regular_file(path)
    try:
        return json.dumps(tomllib.loads(place.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from error
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply for {what}") from error
    except ValueError as error:  # whole numbers of more digits than Python converts
        raise InputError(f"{path} has a number of too many digits") from error
    except TypeError as error:
        raise InputError(f"{path}: dates have no place in {what}") from error
