"""Figure 11: eigenvectors of geometries probed at different random points resemble each other.

Probes are fixed points z_i from N(0, I) (appendix F). Eigenvector v_d of one geometry is compared
with the span of the three eigenvectors around d of another (window h = 1, equation 30); unrelated
bases have (2 h + 1) / D on average. Where every eigenvalue is repeated, once for each pixel of a
patch, the copies are kept apart: the bases are those of the small factor (`directions.structure`).

The rows also have the share of a geometry's own probe in its eigenvectors, (v_d^T z)^2 / |z|^2: an
eigenvector that *is* the probe cannot be similar to that of another one.
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
from .style import BLUE, COLUMN, ORANGE, PAGE, sheet
from .verdict import Finding, mean_interval, positive

TITLE = "similarity of eigenvectors across random point probes"
PARTS = ("iddpm-16", "dit-2")
POWERLESS = ("smoke",)
HALF_WIDTH = 1
LEADING = (1, 5)  # how many first eigenvectors a claim is about
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
        copies = bases[0][2]
        for (i, (u, _, _)), (j, (v, own, _)) in itertools.combinations(enumerate(bases), 2):
            found = windowed_similarity(u, v, half_width=HALF_WIDTH)
            about = {"network": name, "first": i, "second": j, "copies": copies}
            rows += [
                about | {"index": d, "similarity": float(found[d]), "probe_share": float(own[d])}
                for d in range(len(found))
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
) -> tuple[Float[np.ndarray, "D D"], Float[np.ndarray, " D"], int]:
    """Columns in descending order, the share of the probe in each, and copies of an eigenvalue."""
    request.say(f"figure 11: {name}, probe {probe + 1} of {settings.probes}")
    family = network(name, shape=(1, settings.side, settings.side))
    point = np.random.default_rng(probe).standard_normal(family.shape, dtype=np.float32)
    geometry = estimate_geometry(
        family,
        probe=Point(point),
        networks=settings.networks,
        out=request.work("figure-11", f"{name}-{probe}"),
    )
    factor = np.linalg.eigh(geometry.factor)[1][:, ::-1]
    vectors = geometry.structure.embed(factor)
    share = np.square(vectors.T @ point.ravel()) / np.square(point).sum()
    return vectors, share, geometry.structure.copies


def _curves(rows: Rows, name: str, field: str = "similarity") -> Float[np.ndarray, "pairs D"]:
    pairs: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        if row["network"] == name:
            pairs.setdefault((row["first"], row["second"]), []).append(row[field])
    return np.array(list(pairs.values()))


def draw(data: Data) -> Figure:
    """For each network, mean similarity over pairs with its range, and the share of the probe."""
    names = list(dict.fromkeys(row["network"] for row in data.rows))
    figure = sheet(PAGE if len(names) > 1 else COLUMN, 2.3)
    panels = np.atleast_1d(figure.subplots(1, len(names), sharey=True))
    size = max(row["index"] for row in data.rows) + 1
    baseline = (2 * HALF_WIDTH + 1) / size
    for axes, name in zip(panels, names, strict=True):
        curves = _curves(data.rows, name)
        index = 1 + np.arange(curves.shape[1])
        low, high = curves.min(axis=0), curves.max(axis=0)
        axes.fill_between(index, low, high, color=BLUE, alpha=0.25, linewidth=0)
        axes.plot(index, curves.mean(axis=0), color=BLUE, label="similarity, window of three")
        own = _curves(data.rows, name, "probe_share").mean(axis=0)
        axes.plot(index, own, ":", color=ORANGE, label="share of the probe itself")
        axes.axhline(baseline, color="0.4", linestyle="--", linewidth=0.8, label="unrelated bases")
        axes.set_xscale("log")
        axes.set_xlim(0.9, size)
        axes.set_ylim(0, 1.03)
        axes.set_title(name)
        axes.set_xlabel("index $d$ (1: largest eigenvalue)")
    panels[0].set_ylabel("share of energy")
    panels[0].legend()
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """The first eigenvectors are similar at more than 0.9, for each network."""
    names = dict.fromkeys(row["network"] for row in rows)
    return tuple(_finding(rows, name, count) for count in LEADING for name in names)


def _finding(rows: Rows, name: str, count: int) -> Finding:
    own = [row for row in rows if row["network"] == name]
    size = max(row["index"] for row in own) + 1
    last = count * own[0]["copies"]
    probes = {row["first"] for row in own} | {row["second"] for row in own}
    # Pairs share probes; what is independent is a probe, with its mean over the others.
    means = [
        float(
            np.mean(
                [
                    row["similarity"]
                    for row in own
                    if probe in (row["first"], row["second"]) and row["index"] < last
                ]
            )
        )
        for probe in sorted(probes)
    ]
    value, interval = mean_interval(means)
    if len(probes) < 3:  # one pair has no spread
        interval = None
    baseline = (2 * HALF_WIDTH + 1) / size
    many = "first eigenvector" if count == 1 else f"first {count} eigenvectors"
    return Finding(
        f"{name}: the {many} hardly depend{'s' if count == 1 else ''} on the probe",
        f"mean similarity, to be above {HIGH} (unrelated bases: {baseline:.3f})",
        value,
        interval,
        positive(interval and (interval[0] - HIGH, interval[1] - HIGH)),
    )
