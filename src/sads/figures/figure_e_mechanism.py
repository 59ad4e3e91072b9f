"""Figure E: why is the first direction worst? The U-Net taken apart, one change at a time.

The experiment is `benchmarks/claims/mechanism.toml`: rank-one data at 1x8x8 along the first, a
middle and the last direction of each network's own geometry, five seeds. The *effect* of a network
is

    e_s = log y[first, s] - log y[middle, s],

y the SW2 of its samples, paired by seed; for the risk along and off the direction likewise. A
property carries the effect if granting it alone brings e down: time by scale-shift, the mean by a
bypass around the norms without any time, both by a bypass with time. Anisotropy would carry it if e
grew with log(first / middle eigenvalue) over the networks.
"""

import math
from collections.abc import Mapping
from itertools import permutations
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from ..specs import NetworkSpec
from ..statistics.means import mean_interval
from ..statistics.ranks import coefficients, rank_correlation
from ..statistics.resampling import p_value
from ..statistics.shapes import LEAST_SEEDS
from .data import Data, Experiment, Request, Rows
from .stored_experiments import (
    ANY_SCALE,
    WORDS,
    along_directions,
    if_enough,
    last_step,
    present,
)
from .style import BLACK, BLUE, GREEN, GREY, ORANGE, PAGE, sheet
from .verdict import Finding

EXPERIMENT = "mechanism"
PAPER = "iddpm-16"
MEASURES = ("sw2", "w2_direction", "leakage", "risk", "risk_along", "risk_off")
CLOSE = 0.15  # labels of points this close in height go to different sides
EFFECTS = ("sw2", "risk_along", "risk_off")
#: What is granted to the paper's network, alone, and the network that has it.
GRANTED: Mapping[str, str] = MappingProxyType(
    {
        "the time": "iddpm-16,embedding=scale-shift",
        "the mean": "iddpm-16,norm_bypass=true,embedding=none",
        "time and mean": "iddpm-16,norm_bypass=true",
    }
)


def data(request: Request) -> Data:
    """One row for each trial and measure, at all moments."""
    return along_directions(request, EXPERIMENT, MEASURES)


def effects(rows: Rows, measure: str) -> dict[str, dict[int, float]]:
    """E by network and seed, at the end of training."""
    last = last_step(rows)
    by_network: dict[str, dict[int, float]] = {}
    for network in present(rows, "network"):
        own = [
            row
            for row in rows
            if (row["network"], row["measure"], row["step"]) == (network, measure, last)
        ]
        places = sorted({row["place"] for row in own})
        if len(places) != 3:
            continue
        first, middle = (
            {row["seed"]: row["value"] for row in own if row["place"] == place}
            for place in places[:2]
        )
        by_network[network] = {
            seed: math.log(first[seed] / middle[seed])
            for seed in sorted(first.keys() & middle.keys())
        }
    return by_network


def ratios(rows: Rows) -> dict[str, float]:
    """The first eigenvalue over the middle one, by network."""
    ratios = {}
    for network in present(rows, "network"):
        known = {row["place"]: row["eigenvalue"] for row in rows if row["network"] == network}
        values = [known[place] for place in sorted(known)]
        if len(values) == 3:
            ratios[network] = values[0] / values[1]
    return ratios


def draw(data: Data) -> Figure:
    """The effect by network and measure with intervals, and against the anisotropy."""
    figure = sheet(PAGE, 2.9)
    left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
    names = present(data.rows, "network")
    for shift, measure, colour in zip((-0.2, 0, 0.2), EFFECTS, (BLUE, ORANGE, GREEN), strict=True):
        own = effects(data.rows, measure)
        for slot, name in enumerate(names):
            _mark(left, slot + shift, list(own.get(name, {}).values()), colour)
        left.plot([], [], "o", color=colour, label=WORDS[measure], markersize=3)
    left.axvline(0, color=GREY, linewidth=0.6)
    left.set_yticks(range(len(names)), names, fontsize=6)
    left.invert_yaxis()
    left.set_xlabel("log (first / middle direction), 95 %")
    left.legend(fontsize=6)
    own, aniso = effects(data.rows, "sw2"), ratios(data.rows)
    means = {name: float(np.mean([*own[name].values()])) for name in aniso if own.get(name)}
    for name, mean in means.items():
        right.plot(aniso[name], mean, "o", color=BLACK, markersize=3)
        crowded = any(0 < other - mean < CLOSE for other in means.values())
        right.annotate(
            ",".join(NetworkSpec.parse(name).options) or "the paper's",
            (aniso[name], mean),
            fontsize=5,
            xytext=(2, -6 if crowded else 2),
            textcoords="offset points",
        )
    right.set_xscale("log")
    right.xaxis.set_major_formatter(ScalarFormatter())
    right.xaxis.set_minor_formatter(NullFormatter())
    right.set_xticks([10, 30, 100, 300])
    right.axhline(0, color=GREY, linewidth=0.6)
    right.set_xlabel("first / middle eigenvalue")
    right.set_ylabel("log SW$_2$ first / middle")
    return figure


def _mark(axes: Any, height: float, values: list[float], colour: str) -> None:
    """A mean with its interval, lying."""
    if not values:
        return
    mean, interval = mean_interval(values)
    if interval is not None:
        axes.plot(interval, [height, height], color=colour)
    axes.plot(mean, height, "o", color=colour, markersize=3)


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """The effect itself, what each granted property takes away and leaves, and the anisotropy."""
    own = effects(rows, "sw2")
    findings = [_effect(PAPER, own)]
    findings += [_taken(what, network, own) for what, network in GRANTED.items()]
    return (*findings, _anisotropy(own, ratios(rows)))


def _effect(network: str, own: Mapping[str, Mapping[int, float]]) -> Finding:
    values = list(own.get(network, {}).values())
    finding = Finding.of_mean(
        f"{network}: SW2 is worst along the first direction",
        f"log SW2, first minus middle direction, {len(values)} seeds",
        values,
    )
    return if_enough(finding, len(values))


def _taken(what: str, network: str, own: Mapping[str, Mapping[int, float]]) -> Finding:
    """What granting a property takes away from the effect; what it leaves is said with it."""
    before, after = own.get(PAPER, {}), own.get(network, {})
    seeds = sorted(before.keys() & after.keys())
    left, interval = mean_interval([after[seed] for seed in seeds])
    known = "" if interval is None else f" ({interval[0]:.2f} to {interval[1]:.2f})"
    rest = "nothing known" if left is None else f"{left:.2f}{known}"
    finding = Finding.of_mean(
        f"granting {what} alone takes the effect away, at least in part",
        f"effect of {PAPER} minus that of {network}, {len(seeds)} seeds; left: {rest}",
        [before[seed] - after[seed] for seed in seeds],
    )
    return if_enough(finding, len(seeds))


def _anisotropy(own: Mapping[str, Mapping[int, float]], aniso: Mapping[str, float]) -> Finding:
    """Whether the effect grows with the anisotropy of G, by an exact permutation test."""
    claim = "the effect grows with the anisotropy of G"
    names = [name for name in own if name in aniso and own[name]]
    if len(names) < 4:
        return Finding(claim, "Spearman correlation over networks", None, None, None)
    x = np.array([aniso[name] for name in names])
    y = np.array([np.mean(list(own[name].values())) for name in names])
    value = rank_correlation(x, y)
    chance = abs_coefficients(x, y)
    p = p_value(abs(value), chance, tie=1e-9)
    seeds = min(len(own[name]) for name in names)
    decided = p < 0.05 and seeds >= LEAST_SEEDS
    return Finding(
        claim,
        f"Spearman correlation of effect and first / middle eigenvalue over {len(names)} networks, "
        f"permutation p = {p:.2g}",
        value,
        None,
        (value > 0) if decided else None,
    )


def abs_coefficients(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " m"]:
    """Absolute Spearman correlations over all orders of y but its own."""
    orders = np.array(list(permutations(range(len(y))))[1:])
    return np.abs(coefficients(x, y[orders])[:, 0])


FIGURE_E = Experiment(
    "why the first direction is worst", ANY_SCALE, data, draw, verdict, powerless=(), trials=False
)
