"""Figure 11: eigenvectors of geometries probed at different random points resemble each other.

Probes are fixed points z_i from N(0, I) (appendix F). Eigenvector v_d of one geometry is compared
with the span of the three eigenvectors around d of another (window h = 1, equation 30); unrelated
bases have (2 h + 1) / n on average. Where every eigenvalue is repeated, once for each pixel of a
patch, only distinct ones count: the bases are those of the small factor (`directions.structure`),
of size n instead of D.

A pair of probes shares each of them with other pairs, so pairs are not independent. Intervals are
those of the jackknife, which leaves out one probe with all its pairs.

The rows also have the share of a geometry's own probe in its eigenvectors, (v_d^T z)^2 / |z|^2,
summed over copies: an eigenvector that *is* the probe cannot be similar to that of another one.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..directions import similarity_baseline, windowed_similarity
from ..geometry import Point, estimate_geometry
from ..randomness import stream
from ..specs.coercion import as_family
from ..statistics.resampling import jackknife
from .data import Data, Experiment, Request, Rows
from .style import BLUE, COLUMN, ORANGE, PAGE, sheet
from .verdict import Finding

PARTS = ("iddpm-16", "dit-2")
HALF_WIDTH = 1
LEADING = (1, 5)  # how many first eigenvectors a claim is about
HIGH = 0.9


@dataclass(frozen=True)
class Settings:
    """Size of the images, probes, and networks of each geometry."""

    side: int
    probes: int
    networks: int


SCALES: Mapping[str, Settings] = {
    "smoke": Settings(8, 3, 192),
    "laptop": Settings(16, 5, 4_096),
    "paper": Settings(16, 5, 1_000_000),
}


def data(request: Request) -> Data:
    """The similarity of every eigenvector for every pair of probes, and the share of each probe."""
    settings = SCALES[request.scale]
    rows: list[dict[str, Any]] = []
    parts = request.parts(PARTS)
    for name in parts:
        probed = [_eigenvectors(request, name, settings, i) for i in range(settings.probes)]
        for i, (_, own) in enumerate(probed):
            rows += _rows(name, i, None, "probe_share", own)
        for (i, (u, _)), (j, (v, _)) in itertools.combinations(enumerate(probed), 2):
            similar = windowed_similarity(u, v, half_width=HALF_WIDTH)
            rows += _rows(name, i, j, "similarity", similar)
    protocol = {
        "networks": list(parts),
        "shape": [1, settings.side, settings.side],
        "probes": settings.probes,
        "networks of each geometry": settings.networks,
        "window": 2 * HALF_WIDTH + 1,
    }
    return Data(rows, protocol)


def _rows(
    name: str, first: int, second: int | None, field: str, values: Float[np.ndarray, " n"]
) -> list[dict[str, Any]]:
    about = {"network": name, "first": first, "second": second}
    empty = {"similarity": None, "probe_share": None}
    return [about | {"index": d} | empty | {field: float(v)} for d, v in enumerate(values)]


def _eigenvectors(
    request: Request, name: str, settings: Settings, probe: int
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, " n"]]:
    """Distinct eigenvectors as columns in descending order, and the share of the probe in each."""
    request.say(f"figure 11: {name}, probe {probe + 1} of {settings.probes}")
    family = as_family(name, shape=(1, settings.side, settings.side))
    point = stream(probe, "a probe point").standard_normal(family.shape, dtype=np.float32)
    geometry = estimate_geometry(
        family,
        probe=Point(point),
        networks=settings.networks,
        out=request.work("figure-11", f"{name}-{probe}"),
    )
    vectors = np.linalg.eigh(geometry.factor)[1][:, ::-1]
    energy = np.square(vectors.T @ point.ravel()[geometry.structure.entries]).sum(axis=1)
    return vectors, energy / np.square(point).sum()


def _curves(rows: Rows, name: str, field: str = "similarity") -> Float[np.ndarray, "k n"]:
    """One curve for each pair of probes, or for each probe."""
    return np.array(list(_by_pair(rows, name, field).values()))


def _by_pair(rows: Rows, name: str, field: str) -> dict[tuple[int, int], list[float]]:
    """A quantity of one network along the eigenvectors, by pair of probes or by probe."""
    pairs: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        if row["network"] == name and row[field] is not None:
            pairs.setdefault((row["first"], row["second"]), []).append(row[field])
    return pairs


def draw(data: Data) -> Figure:
    """For each network, mean similarity over pairs with its range, and the share of the probe."""
    names = list(dict.fromkeys(row["network"] for row in data.rows))
    figure = sheet(PAGE if len(names) > 1 else COLUMN, 2.3)
    panels = np.atleast_1d(figure.subplots(1, len(names), sharey=True))
    for axes, name in zip(panels, names, strict=True):
        curves = _curves(data.rows, name)
        size = curves.shape[1]
        index = 1 + np.arange(size)
        low, high = curves.min(axis=0), curves.max(axis=0)
        axes.fill_between(index, low, high, color=BLUE, alpha=0.25, linewidth=0)
        axes.plot(index, curves.mean(axis=0), color=BLUE, label="similarity, window of three")
        own = _curves(data.rows, name, "probe_share").mean(axis=0)
        axes.plot(index, own, ":", color=ORANGE, label="share of the probe itself")
        baseline = similarity_baseline(size, half_width=HALF_WIDTH)
        axes.axhline(baseline, color="0.4", linestyle="--", linewidth=0.8, label="unrelated bases")
        axes.set_xscale("log")
        axes.set_xlim(0.9, size)
        axes.set_ylim(0, 1.03)
        axes.set_title(name)
        axes.set_xlabel("index $d$ of the distinct eigenvalue (1: largest)")
    panels[0].set_ylabel("share of energy")
    panels[0].legend()
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """The first eigenvectors are similar at more than 0.9, for each network."""
    names = dict.fromkeys(row["network"] for row in rows)
    return tuple(_finding(rows, name, count) for count in LEADING for name in names)


def _finding(rows: Rows, name: str, count: int) -> Finding:
    pairs = _by_pair(rows, name, "similarity")
    size = max(map(len, pairs.values()))
    value, interval = jackknife({pair: float(np.mean(v[:count])) for pair, v in pairs.items()})
    baseline = similarity_baseline(size, half_width=HALF_WIDTH)
    many = "first eigenvector" if count == 1 else f"first {count} distinct eigenvectors"
    return Finding.above(
        f"{name}: the {many} hardly depend{'s' if count == 1 else ''} on the probe",
        f"mean similarity, to be above {HIGH} (unrelated bases: {baseline:.3f})",
        value,
        interval,
        bound=HIGH,
    )


FIGURE_11 = Experiment(
    "similarity of eigenvectors across random point probes",
    SCALES,
    data,
    draw,
    verdict,
    parts=PARTS,
    trials=False,
)
