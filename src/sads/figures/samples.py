"""Samples under the three rotations, side by side; figures 7 and 10."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..plots.contact_sheet import mosaic
from ..sweep.means import mean_and_error
from .data import Data
from .rotated import LABELS, ROTATIONS, means
from .style import PAGE, bare, sheet


def draw_samples(data: Data, metric: str) -> Figure:
    """A row for each dataset, a block of samples for each rotation."""
    parts = list(dict.fromkeys(row["part"] for row in data.rows))
    figure = sheet(PAGE, 2.55 * len(parts))
    axes = np.asarray(figure.subplots(len(parts), len(ROTATIONS), squeeze=False))
    for line, part in zip(axes, parts, strict=True):
        for place, rotation in zip(line, ROTATIONS, strict=True):
            _block(place, data, part, rotation, metric)
        line[0].set_ylabel(part)
    return figure


def _block(axes: Axes, data: Data, part: str, rotation: str, metric: str) -> None:
    bare(axes)
    samples = data.pictures.get(f"samples-{part}-{rotation}")
    if samples is None:
        axes.text(0.5, 0.5, "samples not kept", ha="center", transform=axes.transAxes)
    else:
        picture = np.nan_to_num(np.clip(mosaic(samples), -1, 1), nan=1.0) / 2 + 0.5
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    own = [row for row in data.rows if row["part"] == part and row["rotation"] == rotation]
    mean, error = mean_and_error(list(means(data.rows, part, rotation, metric).values()))
    spread = "" if error is None else rf" $\pm$ {error:.2g}"
    name = {"sw2": "SW$_2$", "msw2": "MSW$_2$"}[metric]
    axes.set_title(
        rf"{LABELS[rotation]}: $\alpha$ = {own[0]['alpha']:.3g}, {name} = {mean:.3g}{spread}",
        fontsize=7,
    )
