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
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..presentation.plots.directions import shown_indices
from ..specs import DataSpec, parse_shape
from ..statistics.means import mean_and_error, mean_interval
from .data import Data, Request, Rows
from .style import CYCLE, PAGE, sheet
from .trials import geometry_directory, planned, run_parts
from .verdict import Finding, positive

TITLE = "training-set size and weight decay against the order of directions"
PARTS: tuple[str, ...] = ()
POWERLESS = ("smoke",)
FOLDER = "figure-D"
METRIC = "sw2"


@dataclass(frozen=True)
class Settings:
    """Network, shape, networks of the geometry, directions, seeds, sizes, decays, training."""

    network: str
    shape: str
    networks: int
    directions: int
    seeds: tuple[int, ...]
    sizes: tuple[int, ...]
    decays: tuple[float, ...]
    protocol: Mapping[str, Any]


_SMALL = "iddpm-16,channels=8,groups=8,mults=1x1"
_SHORT = {"preset": "laptop", "iterations": 150, "batch_size": 64, "learning_rate": 1e-3}
_SHORT |= {"steps": 30, "samples": 300}
SCALES: Mapping[str, Settings] = MappingProxyType(
    {
        "smoke": Settings(
            _SMALL, "1x8x8", 1_536, 2, (0,), (16, 128), (0.0, 50.0), {"preset": "smoke"}
        ),
        "laptop": Settings(
            "iddpm-16", "1x8x8", 8_192, 3, (0, 1, 2, 3, 4, 5), (64, 10_000), (0.0, 10.0), _SHORT
        ),
        "paper": Settings(
            "iddpm-16",
            "1x16x16",
            100_000,
            9,
            (0, 1, 2, 3, 4),
            (100, 1_000, 10_000),
            (0.0, 1.0, 10.0),
            {"preset": "paper"},
        ),
    }
)


def data(request: Request) -> Data:
    """One row for each training, with its cell."""
    settings = SCALES[request.scale]
    place = geometry_directory(
        request, FOLDER, settings.network, shape=settings.shape, networks=settings.networks
    )
    size = int(np.prod(parse_shape(settings.shape)))
    grid = {
        "networks": [settings.network],
        "shape": settings.shape,
        "geometry": place,
        "indices": shown_indices(size, settings.directions),
    }
    grids = [
        grid | {"protocol": {**settings.protocol, "train": train, "weight_decay": decay}}
        for train, decay in itertools.product(settings.sizes, settings.decays)
    ]
    plan = planned(settings.protocol, settings.seeds, *grids)
    found = run_parts(request, FOLDER, {"trials": plan})["trials"]
    rows = [
        row
        | {
            "train": row["protocol"]["train"],
            "decay": row["protocol"]["weight_decay"],
            "index": DataSpec.parse(row["data"]).indices[0],
        }
        for row in found
    ]
    protocol = {
        "network": settings.network,
        "shape": settings.shape,
        "training": dict(settings.protocol),
        "training samples": list(settings.sizes),
        "weight decays": list(settings.decays),
        "seeds": list(settings.seeds),
    }
    return Data(rows, protocol)


def cells(rows: Rows) -> list[tuple[int, float]]:
    """Training-set size and weight decay of each cell."""
    return sorted({(row["train"], row["decay"]) for row in rows})


def table(rows: Rows, cell: tuple[int, float]) -> tuple[list[int], Float[np.ndarray, "n S"]]:
    """Indices of a cell and its metric by direction and seed."""
    found: dict[int, dict[int, float]] = {}
    for row in rows:
        if (row["train"], row["decay"]) == cell:
            found.setdefault(row["index"], {})[row["seed"]] = row[METRIC]
    order = sorted(found)
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in found.values())))
    return order, np.array([[found[i][s] for s in seeds] for i in order])


def draw(data: Data) -> Figure:
    """A panel for each size of the training set, a line for each weight decay."""
    sizes = sorted({row["train"] for row in data.rows})
    figure = sheet(PAGE * max(2, len(sizes)) / 3, 2.4)
    panels = np.atleast_1d(figure.subplots(1, len(sizes), sharey=True))
    for axes, size in zip(panels, sizes, strict=True):
        decays = [cell for cell in cells(data.rows) if cell[0] == size]
        for cell, colour in zip(decays, CYCLE, strict=False):
            order, values = table(data.rows, cell)
            pairs = [mean_and_error(line.tolist()) for line in values]
            axes.errorbar(
                np.arange(len(order)),
                [mean for mean, _ in pairs],
                [error or 0.0 for _, error in pairs],
                marker="o",
                markersize=3,
                color=colour,
                label=f"decay {cell[1]:g}",
            )
            axes.set_xticks(np.arange(len(order)), [f"$u_{{{i + 1}}}$" for i in order])
        axes.set_title(f"{size:,} training samples")
        axes.set_xlabel("direction, largest eigenvalue first")
    panels[0].set_ylabel("SW$_2$ to held-out data")
    panels[0].legend()
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """The order of the ends in every cell, and whether little data or decay narrows the gap."""
    found = [
        _finding(
            f"{_named(cell)}: the smallest eigenvalue is modelled better than the largest",
            "SW2 of the largest minus that of the smallest eigenvalue, paired over seeds",
            gaps(rows, cell),
        )
        for cell in cells(rows)
    ]
    plain = max(size for size, _ in cells(rows)), min(decay for _, decay in cells(rows))
    for cell in cells(rows):
        # One treatment at a time.
        if (cell[0] == plain[0]) != (cell[1] == plain[1]):
            claim = f"the gap is narrower with {_named(cell)} than with {_named(plain)}"
            difference = gaps(rows, plain) - gaps(rows, cell)
            found.append(_finding(claim, "difference of the gaps, paired over seeds", difference))
    return tuple(found)


def _named(cell: tuple[int, float]) -> str:
    return f"{cell[0]:,} training samples, weight decay {cell[1]:g}"


def gaps(rows: Rows, cell: tuple[int, float]) -> Float[np.ndarray, " S"]:
    """Metric of the largest minus that of the smallest eigenvalue, for each seed."""
    _, values = table(rows, cell)
    return values[0] - values[-1]


def _finding(claim: str, statistic: str, values: Float[np.ndarray, " S"]) -> Finding:
    value, interval = mean_interval(values.tolist())
    return Finding(claim, statistic, value, interval, positive(interval))
