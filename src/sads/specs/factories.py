"""Families of networks: presets, factories in files and modules, plug-ins, diffusers."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from torch import nn

from ..errors import InputError, SadsError, brief
from ..foundation.sibling_imports import Housed, Neighbourhood
from ..networks import PRESETS, ScoreFamily, preset_family
from ..networks.adapters import Calling
from ..networks.adapters.diffusers import diffusers_family
from ..networks.family import DEFAULT_PATH
from ..networks.isolation import global_state_kept, time_limit
from ..path import DiffusionPath
from .grammar import convert
from .networks import NetworkSpec
from .paths import OPTIONS, Stated, stated_by
from .plug_ins import NETWORKS, plug_in
from .stated_calls import conditions_in, stated_in, toml_beside

IMPORT_SECONDS = 60.0
SEEDS = ("rotation",)  # fields that may be any number
LARGEST_FIELD = 100_000  # channels, layers, groups: a larger one is surely a mistake
Result = TypeVar("Result")


def make_family(
    spec: NetworkSpec, shape: tuple[int, ...] | None, schedule: DiffusionPath | None
) -> ScoreFamily:
    """The family of a specification; see `NetworkSpec.family`."""
    make = None if spec.place or spec.name in PRESETS else plug_in(NETWORKS, spec.name)
    # A plug-in may have fields of its own with these names.
    own = () if make is None else inspect.signature(make).parameters
    said = {k: v for k, v in spec.fields.items() if k in OPTIONS and k not in own}
    fields = {k: v for k, v in spec.fields.items() if k not in said}
    stated = stated_by(said)
    if schedule is not None and stated.path not in (None, schedule):
        raise InputError(
            f"{str(spec)!r} names the path {stated.path}, but {schedule} is asked for: leave one "
            "out"
        )
    path = schedule or stated.path
    if spec.place:
        family = _foreign(spec, fields, shape, path, stated)
    elif "shape" in fields:
        raise InputError(f"{str(spec)!r}: pass shape='1x16x16', it is not a field")
    elif spec.name in PRESETS:
        converted = _converted(fields, PRESETS[spec.name].network)
        family = preset_family(spec.name, shape=shape, schedule=path, **converted)
        options = [o for o in spec.options if o.partition("=")[0].strip() in said]
        family = replace(family, name=",".join([family.name, *options]))
    elif make is None:
        return preset_family(spec.name)  # which says what is known
    else:
        family = _plugged_in(spec, fields, make, shape, path)
    if stated == Stated():
        return family
    calling = family.calling
    if (stated.label, stated.guidance) != (None, None):
        calling = replace(calling or Calling(), label=stated.label, guidance=stated.guidance)
    return replace(
        family,
        prediction=stated.prediction,
        time=stated.time,
        reverse=stated.reverse,
        calling=calling,
    )


def _converted(fields: Mapping[str, str], make: Callable[..., Any]) -> dict[str, Any]:
    """The fields of a network in the types that its signature declares; others unchanged."""
    types = {n: p.annotation for n, p in inspect.signature(make, eval_str=True).parameters.items()}
    values = {
        key: convert(key, value, types[key]) if key in types else value
        for key, value in fields.items()
    }
    for key, value in values.items():
        largest = max(value, default=0) if isinstance(value, tuple) else value
        if isinstance(largest, int) and largest > LARGEST_FIELD and key not in SEEDS:
            raise InputError(f"{key} of a network is at most {LARGEST_FIELD:,}, got {largest}")
    return values


def _plugged_in(
    spec: NetworkSpec,
    fields: Mapping[str, str],
    make: Callable[..., Any],
    shape: tuple[int, ...] | None,
    path: DiffusionPath | None,
) -> ScoreFamily:
    """The family of another package's preset; `shape` may have a default there."""
    parameters = inspect.signature(make).parameters
    for field in fields:
        if field not in parameters:
            known = ", ".join(name for name in parameters if name != "shape") or "none"
            raise InputError(f"{spec.name} has no field {field!r}: its fields are {known}")
    size = parameters["shape"].default if shape is None else shape
    if size is inspect.Parameter.empty:
        raise _shapeless(spec)
    factory = partial(make, size, **_converted(fields, make))
    return ScoreFamily(factory, size, path or DEFAULT_PATH, str(spec))


def _foreign(
    spec: NetworkSpec,
    fields: Mapping[str, str],
    shape: tuple[int, ...] | None,
    path: DiffusionPath | None,
    stated: Stated,
) -> ScoreFamily:
    if fields:
        raise InputError(
            f"{str(spec)!r}: a factory takes no fields but {', '.join(OPTIONS)}; set "
            f"{', '.join(fields)} in the factory itself"
        )
    if spec.of_diffusers:
        family = diffusers_family(
            Path(spec.factory),
            shape=shape,
            schedule=path,
            prediction=stated.prediction,
            name=str(spec),
        )
        return replace(family, calling=_with_toml(None, Path(spec.factory)))
    factory, calling = find_factory(spec.place, spec.factory)
    if shape is None:
        raise _shapeless(spec)
    return ScoreFamily(
        factory,
        shape,
        path or DEFAULT_PATH,
        str(spec),
        prediction=stated.prediction,
        calling=_with_toml(calling, Path(spec.place)),
    )


def _shapeless(spec: NetworkSpec) -> InputError:
    return InputError(f"{spec.name} does not say its shape: pass one, for example shape='1x16x16'")


def _with_toml(calling: Calling | None, path: Path) -> Calling | None:
    """What a factory's file states about calls, joined with the TOML file beside it."""
    if path.suffix not in (".py", ".json") or (beside := toml_beside(path)) is None:
        return calling
    stated = calling or Calling()
    source = " and ".join(name for name in (stated.source, beside.name) if name)
    return replace(stated, conditions=conditions_in(beside), source=source)


def find_factory(where: str, attribute: str) -> tuple[Callable[[], Any], Calling]:
    """The callable `attribute` of a Python file or module, and what is stated of its networks."""
    house = Neighbourhood(Path(where).parent) if where.endswith(".py") else None
    if house is None:
        module = guarded(lambda: importlib.import_module(where), where)
    else:
        module = _load_file(Path(where), house)
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
    return factory if house is None else Housed(factory, house), stated_in(module, attribute)


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


def guarded(load: Callable[[], Result], name: str) -> Result:
    """Import other people's code, with a time limit and with errors turned into ours."""
    try:
        with global_state_kept(), time_limit(IMPORT_SECONDS, f"importing {name}"):
            return load()
    except SadsError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{name} cannot be imported ({brief(error)})") from error
