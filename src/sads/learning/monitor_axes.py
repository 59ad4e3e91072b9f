"""What a monitor tells apart: groups of directions, and bins of times."""

from typing import Literal

import numpy as np
from jaxtyping import Float

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
