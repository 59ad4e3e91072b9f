"""Figure 8: SW2 against alpha for three image datasets.

The claim is that W_min is modelled best. The paper finds the identity and W_max close to each
other, since natural images are already aligned with the largest eigenvalues.
"""

import numpy as np
from matplotlib.figure import Figure

from ..sweep.means import mean_and_error
from .data import Data, Request, Rows
from .rotated import LABELS, ROTATIONS, SETS, lowest_is_best, means, rotated_data, wanted
from .style import BLUE, PAGE, sheet
from .verdict import Finding

TITLE = "SW2 against alignment for image datasets"
PARTS = ("mnist", "faces", "cifar")
POWERLESS = ("smoke",)
SCALES = SETS
METRIC = "sw2"


def check(request: Request) -> None:
    """Refuse to start without the data."""
    wanted(request, PARTS)


def data(request: Request) -> Data:
    """One row for each training."""
    return rotated_data(request, PARTS)


def draw(data: Data) -> Figure:
    """A panel for each dataset: mean and standard error at the three values of alpha."""
    parts = list(dict.fromkeys(row["part"] for row in data.rows))
    figure = sheet(PAGE * max(len(parts), 1.5) / 3, 2.2)
    for axes, part in zip(np.atleast_1d(figure.subplots(1, len(parts))), parts, strict=True):
        alphas = {r["rotation"]: r["alpha_relative"] for r in data.rows if r["part"] == part}
        for rotation in ROTATIONS:
            values = list(means(data.rows, part, rotation, METRIC).values())
            mean, error = mean_and_error(values)
            alpha = alphas[rotation]
            axes.plot([alpha] * len(values), values, ".", color="0.7", markersize=3)
            axes.errorbar(alpha, mean, error or 0.0, color=BLUE, marker="o", markersize=4)
            axes.annotate(
                LABELS[rotation], (alpha, mean), (4, 4), textcoords="offset points", fontsize=7
            )
        axes.set_xscale("log")
        axes.margins(x=0.25)
        axes.set_ylim(0, 1.15 * max(r[METRIC] for r in data.rows if r["part"] == part))
        axes.set_title(part)
        axes.set_xlabel(r"alignment $\alpha$, 1 without preference")
        axes.set_ylabel("SW$_2$ to held-out data")
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """Whether the least alignment is modelled best."""
    return lowest_is_best(rows, METRIC)
