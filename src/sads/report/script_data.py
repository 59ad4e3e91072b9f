"""What the page's script gets: one JSON object, numbers and pictures, no markup."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ..directions import Band, Resolution
from .forecasts import along_bands
from .pictures import LARGEST, budget, chosen_rows, eigenvector_picture, eight_bit, reduced
from .subjects import Named, Subject

DIGITS = 6


def script_data(subjects: Sequence[Subject]) -> dict[str, Any]:
    """The whole object."""
    pixels = min(subjects[0].main.geometry.structure.imposed.rows, LARGEST**2)
    most = budget(pixels, len(subjects))
    return {
        "explorers": [explorer(subject, most) for subject in subjects],
        "overlays": overlays(subjects),
    }


def explorer(subject: Subject, most: int) -> dict[str, Any]:
    """One spectrum with its pictures.

    The values are those of the factor's rows: index i of the geometry is row i // copies.
    """
    geometry, alignment = subject.main.geometry, subject.alignment
    spectrum = geometry.spectrum()
    rows = chosen_rows(geometry.structure.rows, most)
    pictures = [reduced(eigenvector_picture(spectrum, int(row))) for row in rows]
    shares = None if alignment is None else alignment.row_shares / geometry.structure.copies
    return {
        "name": subject.main.label,
        "size": geometry.structure.directions,
        "copies": geometry.structure.copies,
        "kind": geometry.structure.imposed.kind,
        "mean": _number(geometry.trace / geometry.structure.size),
        "values": _numbers(spectrum.factor_values),
        "errors": _numbers(spectrum.factor_errors),
        "bands": [_band(band) for band in spectrum.bands],
        "levels": [_level(level) for level in spectrum.resolution],
        "data": None if alignment is None else alignment.data,
        "shares": None if shares is None else _numbers(shares),
        "measured": [asdict(one) for one in subject.measured],
        "forecast": [asdict(one) for one in along_bands(subject)],
        "shape": list(pictures[0].shape),
        "rows": rows.tolist(),
        "pictures": [eight_bit(picture) for picture in pictures],
    }


def _band(b: Band) -> list[Any]:
    overlap = _number(b.overlap), _number(b.overlap_error)
    return [b.first, b.last, *overlap, b.certified, b.null, b.exact]


def _level(level: Resolution) -> list[Any]:
    interval = _number(level.eigenvalue_low), _number(level.eigenvalue_high)
    indices = level.index_low, level.index_high
    return [level.index, level.window, *indices, *interval, level.multiplicity]


def curve(named: Named, name: str) -> dict[str, Any]:
    """A spectrum divided by its mean, to be drawn beside others."""
    geometry = named.geometry
    mean = geometry.trace / geometry.structure.size
    return {
        "name": name,
        "copies": geometry.structure.copies,
        "values": _numbers(geometry.spectrum().factor_values / mean),
    }


def overlays(subjects: Sequence[Subject]) -> list[dict[str, Any]]:
    """Spectra in one plot: all networks, and the noise levels of each."""
    plots = []
    if len(subjects) > 1:
        curves = [curve(subject.main, subject.main.label) for subject in subjects]
        plots.append({"id": "together", "curves": curves})
    for place, subject in enumerate(subjects):
        if subject.levels:
            members = [subject.main, *subject.levels]
            curves = [curve(n, f"{n.timesteps[0]}–{n.timesteps[1] - 1}") for n in members]
            plots.append({"id": f"levels-{place}", "curves": curves})
    return plots


def _numbers(values: np.ndarray) -> list[float]:
    return [_number(value) for value in values]


def _number(value: float) -> float:
    """A number with no more digits than a reader can use, to keep the file small."""
    return float(f"{float(value):.{DIGITS}g}")
