"""Figure G: a search for counterexamples to conjecture 1, and the simplest one.

Conjecture 1 says that data along directions of larger eigenvalues of G are modelled worse. For
every architecture that has been trained here, the sign and size of Spearman's correlation of
eigenvalue and measure over directions, with a bootstrap interval over directions and seeds:

- *all directions at once*: the risk along each of the 64 eigenvectors of one training on Gaussian
  data that fills the space, after 300 steps (the forecast validation, twelve seeds);
- *one direction at a time*: the measures of a training on rank-one data along an eigenvector (the
  rows of figure 6R, five seeds).

The simplest network in which the order is reversed is linear, and its risk is known in closed form:
`linear_network`.
"""

from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..statistics.ranks import rank_correlation
from ..statistics.shapes import LEAST_SEEDS
from ..sweep.correlation import LEAST_BANDS
from . import figure_6r_risk
from .data import Data, Experiment, Request, Rows
from .linear_network import LinearTraining
from .stored_experiments import ANY_SCALE, WORDS, order_over, present, read_table
from .style import BLUE, CYCLE, GREY, ORANGE, PAGE, sheet
from .verdict import Finding, above

TRAININGS, FORECASTS = "forecast-validation.csv", "forecast-validation-forecasts.csv"
ONE = "rank-one"
LINEAR = LinearTraining(tuple(float(2**k) for k in range(3, -5, -1)), rate=0.02, batch=8)
STEPS = np.unique(np.geomspace(1, 20_000, 60).astype(int))
CHECKED = np.array([10, 100, 1_000])
CHAINS = 200


def data(request: Request) -> Data:
    """A row for each architecture, kind of data and measure; rows of the linear network."""
    rows = [*_together(request), *_one_by_one(request), *linear_rows()]
    blank = dict.fromkeys(name for row in rows for name in row)
    protocol = {
        "scale": "registered",
        "experiment": "forecast and figure-06",
        "linear": {"eigenvalues": list(LINEAR.eigenvalues), "rate": LINEAR.rate},
    }
    return Data([blank | row for row in rows], protocol)


def _together(request: Request) -> list[dict[str, Any]]:
    """All directions at once: the risk that is left along each eigenvector."""
    values = {
        (row["data"], row["network"]): _numbers(row["values"])
        for row in read_table(request.rows, FORECASTS)
        if (row["basis"], row["forecast"]) == ("eigenvectors", "G")
    }
    risks: dict[tuple[str, str], list[np.ndarray]] = {}
    for row in read_table(request.rows, TRAININGS):
        if row["basis"] == "eigenvectors":
            key = row["data"], row["network"]
            risks.setdefault(key, []).append(_numbers(row["risk_late"]))
    return [
        _row(network, name, "risk along u", values[name, network], np.array(own).T)
        for (name, network), own in risks.items()
    ]


def _numbers(text: str) -> np.ndarray:
    return np.array(str(text).split(), dtype=float)


def _one_by_one(request: Request) -> list[dict[str, Any]]:
    """One direction at a time."""
    rows = figure_6r_risk.data(request).rows
    return [
        _row(network, ONE, WORDS[measure], own.eigenvalues, own.table)
        for (network, measure), own in figure_6r_risk.profiles(rows).items()
    ]


def _row(network: str, name: str, measure: str, x: np.ndarray, table: np.ndarray) -> dict[str, Any]:
    value, interval = order_over(x, table)
    low, high = interval or (None, None)
    about = {"quantity": "order", "network": network, "data": name, "measure": measure}
    return about | {
        "directions": len(table),
        "seeds": table.shape[1],
        "value": value,
        "low": low,
        "high": high,
    }


def linear_rows(chains: int = CHAINS) -> list[dict[str, Any]]:
    """The risk of the linear network by direction and step, also measured in real trainings."""
    rows = []
    exact = LINEAR.risk(STEPS)
    trained = LINEAR.trained(CHECKED, chains)
    for (i, eigenvalue), (n, step) in product(enumerate(LINEAR.eigenvalues), enumerate(STEPS)):
        about = {"quantity": "closed form", "eigenvalue": eigenvalue, "step": int(step)}
        rows.append(about | {"value": float(exact[i, n])})
    for (i, eigenvalue), (n, step) in product(enumerate(LINEAR.eigenvalues), enumerate(CHECKED)):
        own = trained[:, i, n]
        half = 2 * float(own.std(ddof=1)) / len(own) ** 0.5
        about = {"quantity": "trained", "eigenvalue": eigenvalue, "step": int(step)}
        mean = float(own.mean())
        rows.append(about | {"value": mean, "low": mean - half, "high": mean + half})
    return rows


def draw(data: Data) -> Figure:
    """The orders with intervals on the left, the linear network on the right."""
    orders = [
        row
        for row in data.rows
        if row["quantity"] == "order"
        and row["value"] is not None
        and row["directions"] >= LEAST_BANDS
    ]
    figure = sheet(PAGE, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=[1.2, 1])
    names = present(orders, "network")
    kinds = list(dict.fromkeys((row["data"], row["measure"]) for row in orders))
    for number, kind in enumerate(kinds):
        shift = 0.7 * (number / max(1, len(kinds) - 1) - 0.5)
        colour = CYCLE[number % len(CYCLE)]
        filled = "full" if kind[0] == ONE else "none"
        for row in orders:
            if (row["data"], row["measure"]) == kind:
                height = names.index(row["network"]) + shift
                if row["low"] is not None:
                    left.plot([row["low"], row["high"]], [height] * 2, color=colour, linewidth=0.7)
                left.plot(row["value"], height, "o", color=colour, markersize=2.5, fillstyle=filled)
        left.plot([], [], "o", color=colour, fillstyle=filled, label=", ".join(kind), markersize=3)
    left.axvline(0, color=GREY, linewidth=0.6)
    left.set_yticks(range(len(names)), [name.split("/")[-1] for name in names], fontsize=5)
    left.invert_yaxis()
    left.set_xlim(-1.05, 1.05)
    left.set_xlabel("Spearman, eigenvalue and measure")
    left.legend(fontsize=4, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.1))
    _draw_linear(right, data.rows)
    return figure


def _draw_linear(axes: Any, rows: Rows) -> None:
    values = sorted({r["eigenvalue"] for r in rows if r["quantity"] == "closed form"})
    shown = {values[-1]: ORANGE, values[len(values) // 2]: GREY, values[0]: BLUE} if values else {}
    for eigenvalue, colour in shown.items():
        own = [row for row in rows if row.get("eigenvalue") == eigenvalue]
        exact = [row for row in own if row["quantity"] == "closed form"]
        trained = [row for row in own if row["quantity"] == "trained"]
        axes.plot(
            [row["step"] for row in exact],
            [row["value"] for row in exact],
            color=colour,
            label=f"eigenvalue {eigenvalue:g}",
        )
        for row in trained:
            axes.plot([row["step"]] * 2, [row["low"], row["high"]], color=colour)
            axes.plot(row["step"], row["value"], "o", color=colour, markersize=3)
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel("steps of SGD")
    axes.set_ylabel("exact risk along u")
    axes.set_title("a linear network: lines closed form, dots trained", fontsize=7)
    axes.legend(fontsize=6)


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """For every architecture and measure whether the order is the conjecture's."""
    findings = []
    for row in rows:
        if row["quantity"] != "order":
            continue
        interval = None if row["low"] is None else (row["low"], row["high"])
        enough = row["seeds"] >= LEAST_SEEDS
        findings.append(
            Finding(
                f"{row['network']}, {row['data']}: {row['measure']} rises with the eigenvalue",
                f"Spearman correlation over {row['directions']} directions, {row['seeds']} seeds",
                row["value"],
                interval,
                above(interval) if enough else None,
            )
        )
    return (*findings, *_linear(rows))


def _linear(rows: Rows) -> list[Finding]:
    """The two orders of the linear network, early and late, which have no noise."""
    exact = [row for row in rows if row["quantity"] == "closed form"]
    if not exact:
        return []
    findings = []
    for step, when in ((CHECKED[1], "early"), (max(row["step"] for row in exact), "in the end")):
        near = min({row["step"] for row in exact}, key=lambda own, step=step: abs(own - step))
        own = [row for row in exact if row["step"] == near]
        x, y = (np.array([row[key] for row in own]) for key in ("eigenvalue", "value"))
        value = rank_correlation(x, y)
        claim = f"linear network, {when}: the risk rises with the eigenvalue"
        statistic = f"Spearman correlation after {near} steps, exact"
        findings.append(Finding(claim, statistic, value, None, value > 0))
    return findings


FIGURE_G = Experiment(
    "counterexamples to the order of directions",
    ANY_SCALE,
    data,
    draw,
    verdict,
    powerless=(),
    trials=False,
)
