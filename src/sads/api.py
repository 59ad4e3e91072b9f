"""The Python entry points: strings, factories or values in, a geometry out."""

from collections.abc import Callable, Iterator
from typing import Any

from . import geometry as _geometry
from .errors import InputError
from .geometry import Geometry, Probe
from .networks import ScoreFamily
from .specs import parse_network, parse_probe, parse_shape

Network = str | ScoreFamily | Callable[[], Any]


def network(source: Network, *, shape: str | tuple[int, ...] | None = None) -> ScoreFamily:
    """A family of score networks.

    Args:
        source: a preset with fields (`"iddpm-16,resampling=area"`), `"FILE.py:factory"`,
            `"package.module:factory"`, a callable that makes modules, or a family.
        shape: shape of one sample, `"1x16x16"` or a tuple; needed for callables.
    """
    size = parse_shape(shape) if isinstance(shape, str) else shape
    if isinstance(source, ScoreFamily):
        return source
    if isinstance(source, str):
        return parse_network(source, shape=size)
    if size is None:
        raise InputError("a factory does not say its shape: pass shape=(C, H, W)")
    return ScoreFamily(source, size, name=getattr(source, "__name__", type(source).__name__))


def estimate_geometry(
    source: Network,
    *,
    shape: str | tuple[int, ...] | None = None,
    probe: str | Probe = "zero",
    **options: Any,
) -> Geometry:
    """Estimate the average geometry of untrained networks.

    Args:
        source: what `network` takes.
        shape: shape of one sample.
        probe: `"zero"`, `"gaussian:STD"`, `"point:FILE"`, `"forward:DATA"` or a probe.
        **options: `networks`, `tolerance`, `estimator`, `weighting`, `timesteps`, `seed`, `out`,
            `device`, `on_progress`; see `sads.geometry.Options`.
    """
    family = network(source, shape=shape)
    return _geometry.estimate_geometry(family, probe=_probe(probe, family), **options)


def running_estimates(
    source: Network,
    *,
    shape: str | tuple[int, ...] | None = None,
    probe: str | Probe = "zero",
    **options: Any,
) -> Iterator[Geometry]:
    """Like `estimate_geometry`, but yields estimates as they improve; the last is the result."""
    family = network(source, shape=shape)
    return _geometry.running_estimates(family, probe=_probe(probe, family), **options)


def _probe(probe: str | Probe, family: ScoreFamily) -> Probe:
    return parse_probe(probe, shape=family.shape) if isinstance(probe, str) else probe
