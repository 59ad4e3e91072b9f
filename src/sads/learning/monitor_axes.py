"""What a monitor tells apart: groups of directions, and bins of times."""

from typing import Literal

import numpy as np
from jaxtyping import Float
from torch import Tensor

from ..directions.sets import Columns, DirectionSet, Eigenvectors, MeansAndBands
from ..errors import InputError
from ..geometry import Geometry
from ..path import DiffusionPath, time_values

TimeKind = Literal["index", "unit", "thousand", "sigma", "log-sigma"]


def told_apart(
    shape: tuple[int, ...], directions: Geometry | DirectionSet | np.ndarray | None
) -> DirectionSet:
    """The groups of directions that a monitor tells apart."""
    if directions is None:
        return MeansAndBands(shape)
    if isinstance(directions, Geometry):
        return bands_of(directions, shape)
    if isinstance(directions, DirectionSet):
        if directions.shape != shape:
            raise InputError(f"the directions are of samples {directions.shape}, expected {shape}")
        return directions
    if isinstance(directions, str):
        raise InputError(
            f"directions are a geometry, an array with a direction a column, or nothing, got "
            f"{directions!r}: for a stored geometry, sads.load_geometry(directory)"
        )
    return Columns(shape, np.asarray(directions, dtype=float))


def bands_of(geometry: Geometry, shape: tuple[int, ...]) -> DirectionSet:
    """The bands of a geometry as groups of its eigenvectors."""
    if geometry.shape != shape:
        raise InputError(f"the geometry is of samples {geometry.shape}, expected {shape}")
    spectrum = geometry.spectrum()
    widths = [band.width for band in spectrum.bands]
    names = tuple(
        f"level {band.first}" if band.width == 1 else f"levels {band.first}-{band.last}"
        for band in spectrum.bands
    )
    return Eigenvectors(shape, spectrum, np.repeat(np.arange(len(widths)), widths), names)


def time_edges(kind: TimeKind, path: DiffusionPath, bins: int) -> Float[np.ndarray, " B1"]:
    """Edges of bins of times: of equal width, or of equally many levels of noise.

    >>> from sads.path import Schedule
    >>> time_edges("unit", Schedule(), 2).tolist()
    [0.0, 0.5, 1.0]
    """
    ends = {"index": float(path.steps), "unit": 1.0, "thousand": 1000.0}
    if kind in ends:
        return np.linspace(0, ends[kind], bins + 1)
    levels = np.linspace(0, path.steps - 1, bins + 1)
    return np.interp(levels, np.arange(path.steps), time_values(kind, path))


def expect_times(t: Tensor, kind: TimeKind, edges: Float[np.ndarray, " B1"]) -> None:
    """Refuse times that are of another kind than was said; noise levels may be of any size.

    Raises:
        InputError: if a time lies outside the bins, or all are fractions where numbers up to
            thousand are expected.
    """
    times = t.detach().double().flatten().cpu().numpy()
    if kind in ("sigma", "log-sigma") or not np.isfinite(times).all():
        return
    low, high = float(times.min()), float(times.max())
    if low < edges[0] or high > edges[-1]:
        raise InputError(
            f"t runs from {low:g} to {high:g}, expected {edges[0]:g} to {edges[-1]:g} for "
            f"time={kind!r}: name what t is with time= (index, unit, thousand, sigma, log-sigma)"
        )
    if kind != "unit" and len(times) > 1 and high < 1 and high > low:
        raise InputError(
            f"t runs from {low:g} to {high:g}, expected 0 to {edges[-1]:g} for time={kind!r}: for "
            "times in [0, 1] pass time='unit'"
        )
