"""Figure 6 by exact risk: rank-one data along directions of each network's own geometry.

The experiment is `benchmarks/claims/figure-06.toml`: five architectures, up to nine directions
each, five seeds; the total risk, its parts along the direction of the data and off it, and the risk
in nats, at three moments of training; SW2, MSW2, W2 along the direction and leakage off it for the
first, the middle and the last direction. For every architecture and measure the order over
directions and the shape (`statistics.shapes`) are judged at the end of training.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..statistics.shapes import Shape, shape_of
from .data import Data, Experiment, Request, Rows
from .stored_experiments import (
    ANY_SCALE,
    RISKS,
    SAMPLED,
    WORDS,
    Profile,
    along_directions,
    if_enough,
    last_step,
    order_over,
    present,
    profile,
)
from .style import CYCLE, PAGE, error_bars, legend_below, logarithmic, sheet
from .verdict import Finding

EXPERIMENT = "figure-06"


def data(request: Request) -> Data:
    """One row for each trial, measure and moment."""
    return along_directions(request, EXPERIMENT, (*RISKS, *SAMPLED))


def profiles(rows: Rows) -> dict[tuple[str, str], Profile]:
    """By network and measure, at the end of training."""
    last = last_step(rows)
    complete = {
        (network, measure): profile(rows, network=network, measure=measure, step=last)
        for network in present(rows, "network")
        for measure in (*RISKS, *SAMPLED)
    }
    return {key: own for key, own in complete.items() if own is not None}


def shapes(rows: Rows) -> dict[tuple[str, str], Shape]:
    """By network and measure; those without a middle direction or a common seed are left out."""
    return {
        key: shape_of(own.table)
        for key, own in profiles(rows).items()
        if len(own.table) > 2 and own.seeds
    }


def draw(data: Data) -> Figure:
    """A column for each network: the risk above, what the samples show below."""
    names = present(data.rows, "network")
    own = profiles(data.rows)
    figure = sheet(PAGE, 4.0)
    halves: Any = figure.subfigures(2, 1)
    upper, lower = halves
    for half, what, measures in (
        (upper, "exact risk", RISKS[:3]),
        (lower, "of the samples", ("sw2", "w2_direction", "leakage")),
    ):
        panels = half.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            for measure, colour in zip(measures, CYCLE, strict=False):
                if (line := own.get((name, measure))) is not None and line.seeds:
                    places = np.array(line.places) + 1
                    error_bars(
                        axes, places, line.table.tolist(), color=colour, label=WORDS[measure]
                    )
            logarithmic(axes)
            axes.tick_params(labelsize=6)
            if half is upper:
                axes.set_title(name.replace(",", ",\n"), fontsize=6)
            else:
                axes.set_xlabel("direction\n(1: largest eigenvalue)", fontsize=6)
        panels[0].set_ylabel(what)
        legend_below(half, panels[0])
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """For each network and measure: the order over directions, or the ends of three."""
    return tuple(_finding(*key, own) for key, own in profiles(rows).items())


def _finding(network: str, measure: str, own: Profile) -> Finding:
    word = WORDS[measure]
    shape = shape_of(own.table).name if len(own.table) > 2 and own.seeds else "open"
    if measure in RISKS:
        claim = f"{network}: {word} rises with the eigenvalue"
        statistic = (
            f"Spearman correlation over {len(own.places)} directions, {own.seeds} seeds; "
            f"shape {shape}"
        )
        finding = Finding.above(claim, statistic, *order_over(own.eigenvalues, own.table))
        return if_enough(finding, own.seeds)
    claim = f"{network}: {word} is larger along the largest than along the smallest eigenvalue"
    statistic = f"largest minus smallest eigenvalue, paired over {own.seeds} seeds; shape {shape}"
    gaps = (own.table[0] - own.table[-1]).tolist() if len(own.table) > 1 else []
    return if_enough(Finding.of_mean(claim, statistic, gaps), own.seeds)


FIGURE_6R = Experiment(
    "exact risk along the eigenvectors of the geometry",
    ANY_SCALE,
    data,
    draw,
    verdict,
    powerless=(),
    trials=False,
)
