"""What a user states about the call of a network: functions in the factory's file, TOML beside it.

For a factory `make` in `mine.py`, or in a module, these are `make_inputs` and `make_unpatchify`, or
else `inputs` and `unpatchify`. Conditions may also be written in `mine.toml` beside `mine.py`, or
beside a configuration `mine.json`:

    [inputs]
    y = 3                                                   # one number for each input
    pooled_projections = { sizes = [768] }                  # zeros, one row for each input
    mask = { sizes = [77], fill = 1, kind = "int" }         # float, int or bool
    txt_ids = { sizes = [1, 3], batched = false }           # one for all inputs
    states = [{ sizes = [1, 8] }, { sizes = [1, 16] }]      # a list

    [inputs.added_cond_kwargs]                              # a dictionary
    time_ids = { sizes = [6] }

What is stated replaces what would have been found automatically.
"""

import inspect
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from ..errors import InputError, brief
from ..networks.adapters import Calling
from ..networks.adapters.conditions import Condition, Filled, Several

KEYS = {"sizes", "fill", "kind", "batched"}
LARGEST = 65_536  # of one side of a condition


class Written(BaseModel, frozen=True, extra="forbid", strict=True):
    """One condition as it is written in TOML."""

    sizes: list[int] = Field(default=[], max_length=6)
    fill: float = 0.0
    kind: str = Field(default="float", pattern="^(float|int|bool)$")
    batched: bool = True


def stated_in(module: ModuleType, factory: str) -> Calling:
    """What a module states about the call of one of its factories."""
    inputs, unpatchify = (_function(module, factory, name) for name in ("inputs", "unpatchify"))
    return Calling(inputs, unpatchify, source=Path(module.__file__ or module.__name__).name)


def _function(module: ModuleType, factory: str, name: str) -> Callable[..., Any] | None:
    """A function of that name, unless it is imported or takes other arguments."""
    own = vars(module).get(f"{factory}_{name}", vars(module).get(name))
    if not callable(own) or getattr(own, "__module__", None) != module.__name__:
        return None
    try:
        inspect.signature(own).bind(None, None)
    except (TypeError, ValueError):
        return None
    return own


def toml_beside(path: Path) -> Path | None:
    """The TOML file beside a Python file or a configuration, if there is one with inputs."""
    beside = path.with_suffix(".toml")
    return beside if beside.is_file() and "inputs" in _read(beside) else None


def conditions_in(path: Path) -> tuple[Condition, ...]:
    """The conditions that a TOML file states.

    Raises:
        InputError: if it is not TOML, or a condition cannot be read.
    """
    inputs = _read(path)["inputs"]
    if not isinstance(inputs, dict):
        raise InputError(f"{path}: [inputs] must be a table of arguments by their names")
    return tuple(_conditions(inputs, path))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a TOML file ({brief(error)})") from error


def _conditions(table: dict[str, Any], path: Path, inside: str = "") -> Iterator[Condition]:
    for key, value in table.items():
        name = f"{inside}{key}"
        if isinstance(value, dict) and not (value.keys() & KEYS) and not inside:
            yield from _conditions(value, path, f"{key}.")
        elif isinstance(value, list):
            yield Several(name, "", tuple(_one("", part, path, name) for part in value))
        else:
            yield _one(name, value, path, name)


def _one(name: str, value: Any, path: Path, said: str) -> Condition:
    """One condition: a number, or a table with sizes and the value that fills them."""
    if isinstance(value, (bool, int, float)):
        kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"
        return Filled(name, "", (), float(value), kind)
    try:
        written = Written.model_validate(value)
    except ValidationError as error:
        raise InputError(
            f"{path}: {said} must be a number or a table of sizes, fill, kind (float, int, bool) "
            f"and batched ({error.errors()[0]['msg']})"
        ) from error
    if any(not 1 <= size <= LARGEST for size in written.sizes):
        raise InputError(f"{path}: sizes of {said} are whole numbers from 1 to {LARGEST:,}")
    return Filled(name, "", tuple(written.sizes), written.fill, written.kind, written.batched)
