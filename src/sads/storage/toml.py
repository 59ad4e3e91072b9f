"""TOML files that people write."""

import json
import tomllib
from pathlib import Path

from ..errors import InputError
from .files import regular_file


def toml_as_json(path: str | Path, what: str) -> str:
    """What a TOML file says, as JSON, which has none of its dates and endless numbers.

    Args:
        path: of the file.
        what: it is expected to describe, for messages: `a sweep`.

    Raises:
        InputError: if the file is not there, is not TOML, or holds what JSON cannot.
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
