"""The error of a network as a heat map, direction by noise level."""

import numpy as np
from matplotlib.colors import LogNorm, TwoSlopeNorm
from matplotlib.figure import Figure

from ...learning import Risk
from ..palette import BLUE, MAGNITUDE, SIGNED
from ..risk import quantity

MOST_NAMED = 40


def draw_risk(risk: Risk, title: str) -> Figure:
    """A row for each direction or group of directions, a column for each bin of noise levels.

    A single network's risk is drawn on a logarithmic scale; a difference around zero.
    """
    figure = Figure(figsize=(8.5, 5.0), layout="constrained")
    image_axes, bars = np.asarray(figure.subplots(1, 2, sharey=True, width_ratios=[4, 1]))
    shown = risk.table / risk.widths[:, None]
    largest = float(np.abs(shown).max()) or 1.0
    if (shown >= 0).all():
        positive = shown[shown > 0]
        least = float(positive.min()) if positive.size else largest / 10
        norm, colours = LogNorm(max(least, largest * 1e-6), largest * 1.0001), MAGNITUDE
    else:
        norm, colours = TwoSlopeNorm(0.0, -largest, largest), SIGNED
    edges = np.asarray(risk.edges)
    rows = np.arange(len(shown) + 1) - 0.5
    mesh = image_axes.pcolormesh(edges, rows, shown, norm=norm, cmap=colours)
    figure.colorbar(mesh, ax=image_axes, location="left", label=f"{quantity(risk)}, a direction")
    image_axes.invert_yaxis()
    image_axes.set_xlabel("timestep, least noisy first")
    if len(shown) <= MOST_NAMED:
        image_axes.set_yticks(np.arange(len(shown)), risk.labels, fontsize=6)
    else:
        image_axes.set_ylabel("direction")
    figure.suptitle(title, fontsize=9)
    mean, error = risk.by_direction / risk.widths, risk.by_direction_error / risk.widths
    bars.barh(np.arange(len(mean)), mean, xerr=error, color=BLUE, height=0.9, error_kw={"lw": 0.6})
    bars.set_xlabel("mean")
    return figure
