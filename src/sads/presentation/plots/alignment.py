"""Where the data's energy lies in a geometry, band by band."""

import numpy as np
from matplotlib.figure import Figure

from ...alignment import Alignment
from ..palette import BLACK, CERTIFIED, UNCERTIFIED


def draw_alignment(alignment: Alignment) -> Figure:
    """Eigenvalues above; the share of the second moment on each band below."""
    figure = Figure(figsize=(8.5, 5.2), layout="constrained")
    upper, lower = np.asarray(figure.subplots(2, 1, sharex=True, height_ratios=[1, 1.3]))
    values = alignment.geometry.spectrum().eigenvalues
    shown = np.where(values > 0, values / values[0], np.nan)
    upper.semilogy(np.arange(len(values)), shown, ".", markersize=3, color=CERTIFIED)
    upper.set_ylabel("eigenvalue / largest")
    upper.set_title(_title(alignment), fontsize=10)
    for part in alignment.profile:
        band = part.band
        lower.bar(
            (band.first + band.last) / 2,
            part.share / band.width,
            width=max(band.width, 1),
            color=CERTIFIED if band.certified else UNCERTIFIED,
        )
    lower.set_yscale("log")
    lower.axhline(1 / len(values), color=BLACK, linewidth=0.8, linestyle="--")
    lower.annotate(
        "data without preference",
        (0.99, 1 / len(values)),
        fontsize=7,
        xycoords=("axes fraction", "data"),
        ha="right",
        va="bottom",
    )
    lower.set_ylabel("share of the data's\nsecond moment, per index")
    lower.set_xlabel("index, largest eigenvalue first; orange: not certified")
    return figure


def _title(alignment: Alignment) -> str:
    far = alignment.position
    place = "" if far is None else f", {far:.1%} of the way from least to largest"
    return (
        f"{alignment.data} in the geometry of {alignment.geometry.plan.network}\n"
        f"alpha {alignment.alpha:.5g} ± {alignment.alpha_error:.2g}{place}"
    )
