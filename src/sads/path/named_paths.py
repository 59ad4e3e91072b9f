"""Paths by the names that artefacts store."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from ..errors import InputError
from .base import DiffusionPath
from .rectified_flow import RectifiedFlow
from .variance_exploding import EDM, VarianceExploding
from .variance_preserving import KINDS, Schedule

PATHS: Mapping[str, Callable[..., DiffusionPath]] = MappingProxyType(
    {kind: partial(Schedule, kind) for kind in KINDS}
    | {path.kind: path for path in (RectifiedFlow, VarianceExploding, EDM)}
)


def path_of(
    kind: str, steps: int = 1000, parameters: Mapping[str, float] | None = None
) -> DiffusionPath:
    """The path that an artefact names.

    Args:
        kind: `linear`, `cosine`, `flow`, `ve` or `edm`.
        steps: number of levels.
        parameters: the other parameters by name, where they are not at their defaults.

    Raises:
        InputError: if there is no such path, or it has no such parameters.

    >>> path_of("flow", 10, {"shift": 3.0})
    RectifiedFlow(steps=10, shift=3.0)
    """
    if kind not in PATHS:
        raise InputError(f"unknown schedule {kind!r}: expected one of {', '.join(PATHS)}")
    try:
        return PATHS[kind](steps=steps, **(parameters or {}))
    except TypeError as error:
        names = ", ".join(parameters or {})
        raise InputError(f"the path {kind!r} has no parameters {names}") from error
