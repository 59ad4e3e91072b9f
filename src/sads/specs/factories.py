"""Families of networks: presets, factories in files and modules, plug-ins, diffusers."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from torch import nn

from ..errors import InputError, SadsError, brief
from ..neighbours import Housed, Neighbourhood
from ..networks import PRESETS, ScoreFamily, preset_family
from ..networks.adapters import PREDICTIONS
from ..networks.adapters.diffusers import diffusers_family
from ..networks.isolation import global_state_kept, time_limit
from ..path import Schedule
from .grammar import convert
from .networks import NetworkSpec
from .plug_ins import NETWORKS, plug_in

IMPORT_SECONDS = 60.0
SEEDS = ("rotation",)  # fields that may be any number
LARGEST_FIELD = 100_000  # channels, layers, groups: a larger one is a slip of the hand
Result = TypeVar("Result")


def make_family(
    spec: NetworkSpec, shape: tuple[int, ...] | None, schedule: Schedule | None
) -> ScoreFamily:
    """The family of a specification; see `NetworkSpec.family`."""
    if spec.place:
        return _foreign(spec, shape, schedule)
    if "shape" in spec.fields:
        raise InputError(f"{str(spec)!r}: pass shape='1x16x16', it is not a field")
    if spec.name in PRESETS:
        fields = _converted(spec, PRESETS[spec.name].network)
        return preset_family(spec.name, shape=shape, schedule=schedule, **fields)
    make = plug_in(NETWORKS, spec.name)
    if make is None:
        return preset_family(spec.name)  # which says what is known
    return _plugged_in(spec, make, shape, schedule)


def _converted(spec: NetworkSpec, make: Callable[..., Any]) -> dict[str, Any]:
    """The fields of a network as the types that its signature declares; others as they are."""
    types = {n: p.annotation for n, p in inspect.signature(make, eval_str=True).parameters.items()}
    values = {
        key: convert(key, value, types[key]) if key in types else value
        for key, value in spec.fields.items()
    }
    for key, value in values.items():
        largest = max(value, default=0) if isinstance(value, tuple) else value
        if isinstance(largest, int) and largest > LARGEST_FIELD and key not in SEEDS:
            raise InputError(f"{key} of a network is at most {LARGEST_FIELD:,}, got {largest}")
    return values


def _plugged_in(
    spec: NetworkSpec,
    make: Callable[..., Any],
    shape: tuple[int, ...] | None,
    schedule: Schedule | None,
) -> ScoreFamily:
    """The family of another package's preset; the default of its `shape` is its own."""
    parameters = inspect.signature(make).parameters
    for field in spec.fields:
        if field not in parameters:
            known = ", ".join(name for name in parameters if name != "shape") or "none"
            raise InputError(f"{spec.name} has no field {field!r}: its fields are {known}")
    size = parameters["shape"].default if shape is None else shape
    if size is inspect.Parameter.empty:
        raise InputError(
            f"{spec.name} does not say its shape: pass one, for example shape='1x16x16'"
        )
    factory = partial(make, size, **_converted(spec, make))
    return ScoreFamily(factory, size, schedule or Schedule(), str(spec))


def _foreign(
    spec: NetworkSpec, shape: tuple[int, ...] | None, schedule: Schedule | None
) -> ScoreFamily:
    fields = dict(spec.fields)
    prediction = fields.pop("prediction", None)
    if fields:
        raise InputError(
            f"{str(spec)!r}: a factory takes no fields but prediction; set {', '.join(fields)} in "
            "the factory itself"
        )
    if prediction is not None and prediction not in PREDICTIONS:
        known = ", ".join(PREDICTIONS)
        raise InputError(f"unknown prediction {prediction!r}: expected one of {known}")
    if spec.of_diffusers:
        return diffusers_family(
            Path(spec.factory),
            shape=shape,
            schedule=schedule,
            prediction=prediction,
            name=str(spec),
        )
    factory = find_factory(spec.place, spec.factory)
    if shape is None:
        raise InputError(
            f"{spec.name} does not say its shape: pass one, for example shape='1x16x16'"
        )
    return ScoreFamily(factory, shape, schedule or Schedule(), str(spec), prediction=prediction)


def _shapeless(spec: NetworkSpec) -> InputError:
    return InputError(f"{spec.name} does not say its shape: pass one, for example shape='1x16x16'")


def find_factory(where: str, attribute: str) -> Callable[[], Any]:
    """The callable `attribute` of a Python file or module."""
    house = Neighbourhood(Path(where).parent) if where.endswith(".py") else None
    module = _load_module(where) if house is None else _load_file(Path(where), house)
    name = f"{where}:{attribute}"
    if not hasattr(module, attribute):
        close = get_close_matches(
            attribute, [n for n in vars(module) if not n.startswith("_")], n=3
        )
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        raise InputError(f"{where} has no {attribute!r}{hint}")
    factory = getattr(module, attribute)
    if not callable(factory):
        raise InputError(f"{name} is not callable: name a function that makes a network")
    if isinstance(factory, type) and issubclass(factory, nn.Module):
        raise InputError(
            f"{name} is a class, not a factory: write a function without arguments that returns "
            f"{attribute}(...), and name that"
        )
    if isinstance(factory, nn.Module):
        raise InputError(
            f"{name} is one network, not a factory: write a function without arguments that makes "
            "a fresh one"
        )
    if needed := _required(factory):
        raise InputError(
            f"{name} needs arguments ({', '.join(needed)}): write a function without arguments "
            "that calls it, and name that"
        )
    return factory if house is None else Housed(factory, house)


def _required(factory: Callable[..., Any]) -> list[str]:
    """Names of the arguments that a callable cannot do without."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # built-in callables may not tell
        return []
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in optional]


def _load_file(path: Path, house: Neighbourhood) -> ModuleType:
    if not path.is_file():
        near = get_close_matches(path.name, [p.name for p in path.parent.glob("*.py")], n=1)
        raise InputError(f"no such file: {path}" + (f"; did you mean {near[0]}?" if near else ""))
    spec = importlib.util.spec_from_file_location(f"sads_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and the like look their module up there
    loader = spec.loader

    def load() -> ModuleType:
        importlib.invalidate_caches()  # a neighbour may have been written just now
        with house.entered():
            loader.exec_module(module)
        return module

    return guarded(load, str(path))


def _load_module(name: str) -> ModuleType:
    return guarded(lambda: importlib.import_module(name), name)


def guarded(load: Callable[[], Result], name: str) -> Result:
    """What an import of other people's code returns, if it ends in time and does not fail."""
    try:
        with global_state_kept(), time_limit(IMPORT_SECONDS, f"importing {name}"):
            return load()
    except SadsError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{name} cannot be imported ({brief(error)})") from error
