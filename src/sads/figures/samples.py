"""The three rotations side by side: samples (figures 7 and 10), distances (figures 8 and C)."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..presentation.plots.contact_sheet import mosaic
from ..statistics.means import mean_and_error
from .data import Data, Rows
from .rotated import LABELS, ROTATIONS, TITLES, means
from .style import BLUE, PAGE, bare, sheet

GAP = 0.8  # grey between samples, some of which are white to the edge
_NAMES = {"sw2": "SW$_2$", "msw2": "MSW$_2$"}
# Data as they are often lie close to W_max, so their labels go to different sides.
_BESIDE = {"min": (5, 4), "identity": (-8, -12), "max": (5, 4)}


def draw_samples(data: Data, metric: str) -> Figure:
    """A row for each dataset, a block of samples for each rotation."""
    parts = list(dict.fromkeys(row["part"] for row in data.rows))
    figure = sheet(PAGE, 2.55 * len(parts))
    axes = np.asarray(figure.subplots(len(parts), len(ROTATIONS), squeeze=False))
    for line, part in zip(axes, parts, strict=True):
        for place, rotation in zip(line, ROTATIONS, strict=True):
            _block(place, data, part, rotation, metric)
        line[0].set_ylabel(TITLES[part])
    return figure


def _block(axes: Axes, data: Data, part: str, rotation: str, metric: str) -> None:
    bare(axes)
    samples = data.pictures.get(f"samples-{part}-{rotation}")
    if samples is None:
        axes.text(0.5, 0.5, "samples not kept", ha="center", transform=axes.transAxes)
    else:
        picture = np.nan_to_num(np.clip(mosaic(samples), -1, 1) / 2 + 0.5, nan=GAP)
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    own = [row for row in data.rows if row["part"] == part and row["rotation"] == rotation]
    mean, error = mean_and_error(list(means(data.rows, part, rotation, metric).values()))
    spread = "" if error is None else rf" $\pm$ {error:.2g}"
    value = f"{_NAMES[metric]} = {mean:.3g}{spread}"
    axes.set_title(
        rf"{LABELS[rotation]}: $\alpha$ = {own[0]['alpha']:.3g}, {value}",
        fontsize=7,
    )


def draw_against_alpha(axes: Axes, rows: Rows, part: str, metric: str) -> None:
    """A distance under the three rotations against alpha: seeds, their mean and its error."""
    own = [row for row in rows if row["part"] == part]
    alphas = {row["rotation"]: row["alpha_relative"] for row in own}
    for rotation in ROTATIONS:
        values = list(means(rows, part, rotation, metric).values())
        mean, error = mean_and_error(values)
        place = (alphas[rotation], mean)
        axes.plot([place[0]] * len(values), values, ".", color="0.7", markersize=3)
        axes.errorbar(*place, error or 0.0, color=BLUE, marker="o", markersize=4)
        axes.annotate(
            LABELS[rotation], place, _BESIDE[rotation], textcoords="offset points", fontsize=7
        )
    axes.set_xscale("log")
    axes.margins(x=0.3)
    axes.set_ylim(0, 1.15 * max(row[metric] for row in own))
    axes.set_xlabel(r"relative alignment $\alpha$")
    axes.set_ylabel(f"{_NAMES[metric]} to held-out data")
