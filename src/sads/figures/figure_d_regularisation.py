"""Figure D, beyond the paper: the order of directions under weight decay and with little data.

Rank-one trials along eigenvectors, as in figure 6, for several sizes of the training set and
strengths of weight decay (open question 4). In each cell the order is summarised by the gap: SW2
along the largest eigenvalue minus that along the smallest, paired over seeds. Whether little data
or weight decay narrows it is a difference of gaps, again paired over seeds.

Decoupled weight decay w multiplies weights by (1 - rate w) a step. The strongest is so strong that
an unused weight loses most of its size in the whole training.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..presentation.plots.directions import shown_indices
from ..specs import parse_shape
from ..statistics.means import paired_values
from .data import Data, Experiment, Request, Rows
from .style import CYCLE, PAGE, error_bars, sheet
from .trials import FIVE, SHORT, SMALL_UNET, Setup, index_of, run_parts
from .verdict import Finding

FOLDER = "figure-D"
METRIC = "sw2"
SIX = (0, 1, 2, 3, 4, 5)  # seeds


@dataclass(frozen=True)
class Settings:
    """Trainings, directions, sizes of the training set and weight decays."""

    setup: Setup
    directions: int
    sizes: tuple[int, ...]
    decays: tuple[float, ...]


_SMOKE = Setup(SMALL_UNET, "1x8x8", {"preset": "smoke"}, (0,), 1_536)
_LAPTOP = Setup("iddpm-16", "1x8x8", SHORT, SIX, 8_192)
_PAPER = Setup("iddpm-16", "1x16x16", {"preset": "paper"}, FIVE, 100_000)
SCALES: Mapping[str, Settings] = {
    "smoke": Settings(_SMOKE, 2, (16, 128), (0.0, 50.0)),
    "laptop": Settings(_LAPTOP, 3, (64, 10_000), (0.0, 10.0)),
    "paper": Settings(_PAPER, 9, (100, 1_000, 10_000), (0.0, 1.0, 10.0)),
}


def data(request: Request) -> Data:
    """One row for each training, with its cell."""
    settings = SCALES[request.scale]
    setup = settings.setup
    common = setup.protocol_table
    place, _ = setup.geometry(request, FOLDER)
    size = int(np.prod(parse_shape(str(setup.shape))))
    indices = shown_indices(size, settings.directions)
    grids = [
        {
            "geometry": place,
            "indices": indices,
            "protocol": {**common, "train": train, "weight_decay": decay},
        }
        for train, decay in itertools.product(settings.sizes, settings.decays)
    ]
    rows = [
        row
        | {
            "train": row["protocol"]["train"],
            "decay": row["protocol"]["weight_decay"],
            "index": index_of(row),
        }
        for row in run_parts(request, FOLDER, {"trials": setup.planned(*grids)})["trials"]
    ]
    protocol = {
        "network": setup.network,
        "shape": setup.shape,
        "training": common,
        "training samples": list(settings.sizes),
        "weight decays": list(settings.decays),
        "seeds": list(setup.seeds),
    }
    return Data(rows, protocol)


def cells(rows: Rows) -> list[tuple[int, float]]:
    """Training-set size and weight decay of each cell."""
    return sorted({(row["train"], row["decay"]) for row in rows})


def table(rows: Rows, cell: tuple[int, float]) -> tuple[list[int], Float[np.ndarray, "n S"]]:
    """Indices of a cell and its metric by direction and seed."""
    _, values = paired_values(
        (row["index"], row["seed"], row[METRIC])
        for row in rows
        if (row["train"], row["decay"]) == cell
    )
    order = sorted(values)
    return order, np.array([values[i] for i in order])


def draw(data: Data) -> Figure:
    """A panel for each size of the training set, a line for each weight decay."""
    sizes = sorted({row["train"] for row in data.rows})
    figure = sheet(PAGE * max(2, len(sizes)) / 3, 2.4)
    panels = np.atleast_1d(figure.subplots(1, len(sizes), sharey=True))
    for axes, size in zip(panels, sizes, strict=True):
        decays = [cell for cell in cells(data.rows) if cell[0] == size]
        for cell, colour in zip(decays, CYCLE, strict=False):
            order, values = table(data.rows, cell)
            label = f"decay {cell[1]:g}"
            error_bars(axes, np.arange(len(order)), values.tolist(), color=colour, label=label)
            axes.set_xticks(np.arange(len(order)), [f"$u_{{{i + 1}}}$" for i in order])
        axes.set_title(f"{size:,} training samples")
        axes.set_xlabel("direction, largest eigenvalue first")
    panels[0].set_ylabel("SW$_2$ to held-out data")
    panels[0].legend()
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """The order of the ends in every cell, and whether little data or decay narrows the gap."""
    findings = [
        Finding.of_mean(
            f"{_named(cell)}: the smallest eigenvalue is modelled better than the largest",
            "SW2 of the largest minus that of the smallest eigenvalue, paired over seeds",
            gaps(rows, cell).tolist(),
        )
        for cell in cells(rows)
    ]
    plain = max(size for size, _ in cells(rows)), min(decay for _, decay in cells(rows))
    for cell in cells(rows):
        # One treatment at a time.
        if (cell[0] == plain[0]) != (cell[1] == plain[1]):
            findings.append(
                Finding.of_mean(
                    f"the gap is narrower with {_named(cell)} than with {_named(plain)}",
                    "difference of the gaps, paired over seeds",
                    (gaps(rows, plain) - gaps(rows, cell)).tolist(),
                )
            )
    return tuple(findings)


def _named(cell: tuple[int, float]) -> str:
    return f"{cell[0]:,} training samples, weight decay {cell[1]:g}"


def gaps(rows: Rows, cell: tuple[int, float]) -> Float[np.ndarray, " S"]:
    """Metric of the largest minus that of the smallest eigenvalue, for each seed."""
    _, values = table(rows, cell)
    return values[0] - values[-1]


FIGURE_D = Experiment(
    "training-set size and weight decay against the order of directions",
    SCALES,
    data,
    draw,
    verdict,
)
