"""Figure 11: eigenvectors of geometries probed at different random points resemble each other.

Probes are fixed points z_i from N(0, I) (appendix F). Eigenvector v_d of one geometry is compared
with the span of the three eigenvectors around d of another (window h = 1, equation 30); unrelated
bases have (2 h + 1) / D on average.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..api import estimate_geometry, network
from ..directions import windowed_similarity
from ..geometry import Point
from .data import Data, Request, Rows
from .style import COLUMN, CYCLE, sheet
from .verdict import Finding, mean_interval, positive

TITLE = "similarity of eigenvectors across random point probes"
PARTS = ("iddpm-16", "dit-2")
POWERLESS = ("smoke",)
HALF_WIDTH = 1
FIRST = 5  # eigenvectors that the claim is about
HIGH = 0.9


@dataclass(frozen=True)
class Settings:
    """Size of the images, probes, and networks of each geometry."""

    side: int
    probes: int
    networks: int


SCALES: Mapping[str, Settings] = MappingProxyType(
    {
        "smoke": Settings(8, 3, 192),
        "laptop": Settings(16, 5, 4_096),
        "paper": Settings(16, 5, 1_000_000),
    }
)


def data(request: Request) -> Data:
    """The similarity of every eigenvector for every pair of probes."""
    settings = SCALES[request.scale]
    rows: list[dict[str, Any]] = []
    parts = request.parts(PARTS)
    for name in parts:
        bases = [_eigenvectors(request, name, settings, i) for i in range(settings.probes)]
        for (i, u), (j, v) in itertools.combinations(enumerate(bases), 2):
            found = windowed_similarity(u, v, half_width=HALF_WIDTH)
            rows += [
                {"network": name, "first": i, "second": j, "index": d, "similarity": float(value)}
                for d, value in enumerate(found)
            ]
    protocol = {
        "networks": list(parts),
        "shape": [1, settings.side, settings.side],
        "probes": settings.probes,
        "networks of each geometry": settings.networks,
        "window": 2 * HALF_WIDTH + 1,
    }
    return Data(rows, protocol)


def _eigenvectors(
    request: Request, name: str, settings: Settings, probe: int
) -> Float[np.ndarray, "D D"]:
    """Columns in descending order of eigenvalue, of the geometry probed at one random point."""
    request.say(f"figure 11: {name}, probe {probe + 1} of {settings.probes}")
    family = network(name, shape=(1, settings.side, settings.side))
    point = np.random.default_rng(probe).standard_normal(family.shape, dtype=np.float32)
    geometry = estimate_geometry(
        family,
        probe=Point(point),
        networks=settings.networks,
        out=request.work("figure-11", f"{name}-{probe}"),
    )
    return np.linalg.eigh(geometry.matrix())[1][:, ::-1]


def _curves(rows: Rows, name: str) -> Float[np.ndarray, "pairs D"]:
    pairs: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        if row["network"] == name:
            pairs.setdefault((row["first"], row["second"]), []).append(row["similarity"])
    return np.array(list(pairs.values()))


def draw(data: Data) -> Figure:
    """Mean similarity over pairs with its range, against the index."""
    figure = sheet(COLUMN, 2.4)
    axes = figure.subplots()
    names = list(dict.fromkeys(row["network"] for row in data.rows))
    for name, colour in zip(names, CYCLE, strict=False):
        curves = _curves(data.rows, name)
        index = 1 + np.arange(curves.shape[1])
        axes.plot(index, curves.mean(axis=0), color=colour, label=name)
        axes.fill_between(
            index, curves.min(axis=0), curves.max(axis=0), color=colour, alpha=0.2, linewidth=0
        )
    size = max(row["index"] for row in data.rows) + 1
    baseline = (2 * HALF_WIDTH + 1) / size
    axes.axhline(baseline, color="0.4", linestyle="--", linewidth=0.8, label="unrelated bases")
    axes.set_xlabel("index $d$ (1: largest eigenvalue)")
    axes.set_ylabel("similarity, window of three")
    axes.set_ylim(0, 1.03)
    axes.set_xlim(1, size)
    axes.legend()
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """The first eigenvectors are similar at more than 0.9, for each network."""
    return tuple(_finding(rows, name) for name in dict.fromkeys(row["network"] for row in rows))


def _finding(rows: Rows, name: str) -> Finding:
    own = [row for row in rows if row["network"] == name]
    size = max(row["index"] for row in own) + 1
    probes = {row["first"] for row in own} | {row["second"] for row in own}
    # Pairs share probes; what is independent is a probe, with its mean over the others.
    means = [
        float(
            np.mean(
                [
                    row["similarity"]
                    for row in own
                    if probe in (row["first"], row["second"]) and row["index"] < FIRST
                ]
            )
        )
        for probe in sorted(probes)
    ]
    value, interval = mean_interval(means)
    baseline = (2 * HALF_WIDTH + 1) / size
    return Finding(
        f"the first eigenvectors of {name} hardly depend on the probe: similarity above {HIGH}",
        f"mean similarity of the first {FIRST} eigenvectors (unrelated bases: {baseline:.3f})",
        value,
        interval,
        positive(interval and (interval[0] - HIGH, interval[1] - HIGH)),
    )
