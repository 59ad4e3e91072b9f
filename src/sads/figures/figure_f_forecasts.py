"""Figure F: what was forecast before training against what training did.

The rows are those of the forecast validation (`benchmarks/forecast.py`): fourteen architectures,
three datasets, twelve trainings each, directions the eigenvectors of each network's own geometry.
Early means the share of each direction that is learned when half of the whole target is; late means
the risk after the last step. The figure shows Spearman's correlation of forecast and outcome over
the directions, beside the ceiling that the noise of both allows. Only pairs of architecture and
dataset on whose order halves of the trainings agree at 0.5 or more are judged: the median of
correlation over ceiling, against the bars that were registered with the validation (0.85 early;
late 0.8 on isotropic data).
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..errors import InputError
from ..statistics.resampling import bootstrap_interval
from ..storage.files import regular_file
from .data import Data, Experiment, Request, Rows
from .stored_experiments import ANY_SCALE
from .style import BLUE, GREEN, GREY, ORANGE, PAGE, PURPLE, sheet
from .verdict import Finding

FILE = "forecast-validation.json"
JUDGED = "eigenvectors"
HAS_ORDER = 0.5  # agreement of halves of the trainings
#: What is shown, with its words.
SHOWN: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("early", "drift"): "drift of one step",
        ("early", "minus G"): "minus eigenvalue of G",
        ("late", "G"): "eigenvalue of G",
        ("late", "noise"): "noise of one step",
    }
)
KEPT = ("data", "network", "outcome", "forecast", "agreement", "spearman", "ceiling", "ratio")


def data(request: Request) -> Data:
    """One row for each pair of architecture and dataset, outcome and forecast."""
    path = request.rows / FILE
    try:
        content = json.loads(regular_file(path).read_bytes())
        pairs = content["pairs"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"cannot read {path}: expected what benchmarks/forecast.py wrote ({error})"
        ) from error
    rows: list[dict[str, Any]] = [
        {key: pair[key] for key in KEPT}
        for pair in pairs
        if pair["basis"] == JUDGED and (pair["outcome"], pair["forecast"]) in SHOWN
    ]
    protocol = {"scale": "registered", "experiment": "forecast", "training": content["protocol"]}
    return Data(rows, protocol | {"seeds": content["seeds"], "bars": content["bars"]})


def with_order(rows: Rows, outcome: str, forecast: str, data: str | None = None) -> Rows:
    """The judged pairs of one forecast; a forecast without a ratio counts as zero."""
    return [
        row
        for row in rows
        if (row["outcome"], row["forecast"]) == (outcome, forecast)
        and data in (None, row["data"])
        and (row["agreement"] or 0.0) >= HAS_ORDER
    ]


def draw(data: Data) -> Figure:
    """Correlation against its ceiling, a panel for each forecast."""
    colours = dict(zip(("isotropic", "digits", "mnist"), (BLUE, ORANGE, GREEN), strict=True))
    figure = sheet(PAGE, 2.3)
    for axes, (key, words) in zip(figure.subplots(1, 4, sharey=True), SHOWN.items(), strict=True):
        for row in with_order(data.rows, *key):
            point = row["ceiling"] or 0.0, row["spearman"] or 0.0
            axes.plot(*point, "o", color=colours.get(row["data"], PURPLE), markersize=3)
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.6)
        axes.axhline(0, color=GREY, linewidth=0.6)
        axes.set(xlim=(-0.02, 1.02), ylim=(-1.02, 1.02))
        axes.set_title(f"{words}\n{key[0]}", fontsize=7)
        axes.set_xlabel("ceiling")
    figure.axes[0].set_ylabel("Spearman, forecast and outcome")
    for name, colour in colours.items():
        figure.axes[0].plot([], [], "o", color=colour, label=name, markersize=3)
    figure.axes[0].legend(fontsize=6, loc="lower left")
    return figure


def median(rows: Rows) -> tuple[float | None, tuple[float, float] | None]:
    """The median of correlation over ceiling, with an interval over pairs."""
    if len(rows) < 3:
        return None, None
    ratios = np.array([row["ratio"] or 0.0 for row in rows])
    interval = bootstrap_interval(len(ratios), lambda drawn: float(np.median(ratios[drawn])))
    return float(np.median(ratios)), interval


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """Whether drift predicts the order of learning, and G or noise the order of the risk left."""
    judged = (
        ("early", "drift", None, 0.85, "the drift of one step tells which directions come first"),
        ("late", "G", "isotropic", 0.8, "the eigenvalue of G tells where risk is left"),
        ("late", "noise", "isotropic", 0.8, "the noise of one step tells where risk is left"),
    )
    findings = []
    for outcome, forecast, data, bar, claim in judged:
        own = with_order(rows, outcome, forecast, data)
        statistic = (
            f"median of Spearman's correlation over its ceiling, {len(own)} pairs; bar {bar}"
        )
        findings.append(Finding.above(claim, statistic, *median(own), bound=bar))
    return tuple(findings)


FIGURE_F = Experiment(
    "forecast against outcome", ANY_SCALE, data, draw, verdict, powerless=(), trials=False
)
