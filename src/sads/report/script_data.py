"""What the page's script gets: one JSON object, numbers and pictures, no markup."""

from dataclasses import asdict
from typing import Any

import numpy as np

from ..alignment import Alignment
from ..geometry import Geometry
from .levels import Architecture, Named
from .measured import Measured
from .pictures import chosen_rows, eigenvector_picture, eight_bit

DIGITS = 6


def explorer(
    named: Named, alignment: Alignment | None, measured: tuple[Measured, ...], most: int
) -> dict[str, Any]:
    """One spectrum with its pictures.

    Values are those of the factor's rows; index i of the whole is row i // copies.
    """
    geometry = named.geometry
    spectrum = geometry.spectrum()
    rows = chosen_rows(geometry.structure.rows, most)
    pictures = [eigenvector_picture(spectrum, int(row)) for row in rows]
    shares = None if alignment is None else alignment.row_shares / geometry.structure.copies
    return {
        "name": label(named),
        "size": geometry.structure.size,
        "copies": geometry.structure.copies,
        "kind": geometry.structure.kind,
        "mean": _number(geometry.trace / geometry.structure.size),
        "values": _numbers(spectrum.factor_values),
        "errors": _numbers(spectrum.factor_errors),
        "bands": [
            [
                b.first,
                b.last,
                _number(b.overlap),
                _number(b.overlap_error),
                b.certified,
                b.null,
                b.exact,
            ]
            for b in spectrum.bands
        ],
        "levels": [
            [
                level.index,
                level.window,
                level.index_low,
                level.index_high,
                _number(level.eigenvalue_low),
                _number(level.eigenvalue_high),
                level.multiplicity,
            ]
            for level in spectrum.resolution
        ],
        "data": None if alignment is None else alignment.data,
        "shares": None if shares is None else _numbers(shares),
        "measured": [asdict(one) for one in measured],
        "shape": list(pictures[0].shape),
        "rows": rows.tolist(),
        "pictures": [eight_bit(picture) for picture in pictures],
    }


def label(named: Named) -> str:
    """How a geometry is called in plots: its network, and what is not the default."""
    plan = named.geometry.plan
    probe = "" if plan.probe == "zero" else f", probe {plan.probe}"
    return f"{plan.network}{probe}{level_label(named.geometry)}"


def level_label(geometry: Geometry) -> str:
    """The timesteps, unless they are all."""
    first, end = geometry.plan.timesteps
    return "" if (first, end) == (0, geometry.plan.steps) else f", timesteps {first} to {end - 1}"


def curve(named: Named, name: str) -> dict[str, Any]:
    """A spectrum divided by its mean, to be drawn beside others."""
    geometry = named.geometry
    mean = geometry.trace / geometry.structure.size
    return {
        "name": name,
        "copies": geometry.structure.copies,
        "values": _numbers(geometry.spectrum().factor_values / mean),
    }


def overlays(architectures: list[Architecture]) -> list[dict[str, Any]]:
    """Spectra in one plot: all architectures, and the noise levels of each."""
    found = []
    if len(architectures) > 1:
        found.append(
            {"id": "together", "curves": [curve(a.main, label(a.main)) for a in architectures]}
        )
    for place, one in enumerate(architectures):
        if one.levels:
            members = [one.main, *one.levels]
            curves = [curve(n, f"{n.timesteps[0]}–{n.timesteps[1] - 1}") for n in members]
            found.append({"id": f"levels-{place}", "curves": curves})
    return found


def _numbers(values: np.ndarray) -> list[float]:
    return [_number(value) for value in values]


def _number(value: float) -> float:
    """With as many digits as a reader can use."""
    return float(f"{float(value):.{DIGITS}g}")
