"""Figure 8: SW2 against alpha for three image datasets.

The claim is that W_min is modelled best. The paper finds the identity and W_max close to each
other, since natural images are already aligned with the largest eigenvalues.
"""

import numpy as np
from matplotlib.figure import Figure

from .data import Data, Request, Rows
from .rotated import SETS, TITLES, lowest_is_best, rotated_data, wanted
from .samples import draw_against_alpha
from .style import PAGE, sheet
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
        draw_against_alpha(axes, data.rows, part, METRIC)
        axes.set_title(TITLES[part])
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """Whether the least alignment is modelled best."""
    return lowest_is_best(rows, METRIC)
