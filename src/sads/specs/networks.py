"""Strings to networks: `PRESET[,field=value...]`, `FILE.py:factory`, `package.module:factory`."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import InputError, brief
from ..networks import PRESETS, ScoreFamily, preset_family
from ..schedule import Schedule
from .grammar import convert, split_fields


def parse_network(
    text: str, *, shape: tuple[int, ...] | None = None, schedule: Schedule | None = None
) -> ScoreFamily:
    """The family that a string names.

    >>> parse_network("iddpm-16,resampling=area").name
    'iddpm-16,resampling=area'
    """
    name, fields = split_fields(text)
    if ":" in name:
        if fields:
            raise InputError(f"{text!r}: a factory takes no fields; set them in the factory itself")
        return _foreign(name, shape, schedule)
    if name not in PRESETS:
        return preset_family(name)  # which says what is known
    types = {
        n: p.annotation for n, p in inspect.signature(PRESETS[name].network).parameters.items()
    }
    if "shape" in fields:
        raise InputError(f"{text!r}: the shape is given by --shape, not as a field")
    values: dict[str, Any] = {
        key: convert(key, value, types[key]) if key in types else value
        for key, value in fields.items()
    }
    return preset_family(name, shape=shape, schedule=schedule, **values)


def _foreign(name: str, shape: tuple[int, ...] | None, schedule: Schedule | None) -> ScoreFamily:
    where, _, attribute = name.rpartition(":")
    factory = find_factory(where, attribute)
    if shape is None:
        raise InputError(
            f"{name} does not say its shape: pass --shape, for example --shape 1x16x16"
        )
    return ScoreFamily(factory, shape, schedule or Schedule(), name)


def find_factory(where: str, attribute: str) -> Callable[[], Any]:
    """The callable `attribute` of a Python file or module."""
    module = _load_file(Path(where)) if where.endswith(".py") else _load_module(where)
    if not hasattr(module, attribute):
        close = get_close_matches(
            attribute, [n for n in vars(module) if not n.startswith("_")], n=3
        )
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        raise InputError(f"{where} has no {attribute!r}{hint}")
    factory = getattr(module, attribute)
    if not callable(factory):
        raise InputError(
            f"{where}:{attribute} is not callable: name a function that makes a network"
        )
    return factory


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"no such file: {path}")
    spec = importlib.util.spec_from_file_location(f"sads_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and the like look their module up there
    return _run(lambda: spec.loader.exec_module(module) or module, str(path))  # type: ignore[union-attr]


def _load_module(name: str) -> ModuleType:
    return _run(lambda: importlib.import_module(name), name)


def _run(load: Callable[[], ModuleType], name: str) -> ModuleType:
    try:
        return load()
    except Exception as error:
        raise InputError(f"{name} cannot be imported ({brief(error)})") from error
