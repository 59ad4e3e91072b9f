"""Figure 1: a diffusion transformer on spheres in its first and last directions.

x = sqrt(D) V z with z uniform on the unit sphere of R^3. V is drawn by the seed from the band of
the largest eigenvalue, or from that of the smallest: a single eigenvector of a degenerate
band means nothing, but the band's subspace does.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..data import band_directions
from ..foundation.versions import DRAWS
from ..statistics.means import paired_differences
from .data import Data, Experiment, Request, Rows
from .style import BLUE, ORANGE, PAGE, error_bars, sheet
from .trials import FIVE, THREE, Setup, run_parts, samples_of
from .verdict import Finding

FOLDER = "figure-01"
PLACES = {"last": "smallest", "first": "largest"}  # eigenvalue
COLOURS = {"last": BLUE, "first": ORANGE}
METRIC = "sw2"
_LAPTOP = {"preset": "laptop", "iterations": 1_000, "learning_rate": 1e-3, "batch_size": 128}
_PAPER = {"preset": "paper", "iterations": 10_000}
SCALES: Mapping[str, Setup] = {
    "smoke": Setup("dit-2,depth=2", "1x8x8", "smoke", (0, 1)),
    "laptop": Setup("dit-2", "1x16x16", _LAPTOP, THREE),
    "paper": Setup("dit-2", "1x16x16", _PAPER, FIVE),
}


def data(request: Request) -> Data:
    """One row for each training, and the coordinates of the first seed's samples."""
    setup = SCALES[request.scale]
    place, geometry = setup.geometry(request, FOLDER)
    spectrum = geometry.spectrum()
    bands = {"last": len(spectrum.bands) - 1, "first": 0}
    names = {f"sphere:geometry={place}:band={band}": name for name, band in bands.items()}
    plan = setup.planned({"data": list(names)})
    rows, pictures = [], {}
    for row in run_parts(request, FOLDER, {"spheres": plan})["spheres"]:
        name = names[row["data"]]
        # Older draws gave other directions for the same seed.
        shown = row["seed"] == 0 and row["draws"] == DRAWS
        samples = samples_of(request, FOLDER, row) if shown else None
        if samples is not None:
            v = band_directions(spectrum, bands[name], row["seed"], 3)
            pictures[f"cloud-{name}"] = coordinates(samples, v)
        rows.append(row | {"part": name})
    protocol = {
        "network": setup.network,
        "shape": setup.shape,
        "bands": {p: [spectrum.bands[b].first, spectrum.bands[b].last] for p, b in bands.items()},
        "training": rows[0]["protocol"],
        "seeds": list(setup.seeds),
    }
    return Data(rows, protocol, pictures)


def coordinates(
    samples: Float[np.ndarray, "N ..."], v: Float[np.ndarray, "D 3"]
) -> Float[np.ndarray, "N 3"]:
    """Samples in the three directions, in units of the radius sqrt(D)."""
    return samples.reshape(len(samples), -1) @ v / np.sqrt(len(v))


def draw(data: Data) -> Figure:
    """The clouds of one seed, and the distances of all seeds."""
    figure = sheet(PAGE, 2.6)
    grid = figure.add_gridspec(1, 3, width_ratios=[1.2, 1.2, 0.8])
    known = [np.abs(v) for k, v in data.pictures.items() if k.startswith("cloud")]
    reach = max([1.5, *(float(np.quantile(v, 0.95)) for v in known)])
    chart = figure.add_subplot(grid[0, 2])
    for slot, (place, colour) in enumerate(COLOURS.items()):
        axes: Any = figure.add_subplot(grid[0, slot], projection="3d")
        if (cloud := data.pictures.get(f"cloud-{place}")) is not None:
            axes.scatter(*cloud.T, s=3, color=colour, depthshade=True)
        _frame(axes, reach)
        axes.set_title(f"sphere in the {PLACES[place]} eigenvalue's band", fontsize=7)
        values = list(by_seed(data.rows, place).values())
        chart.plot([slot] * len(values), values, ".", color="0.7")
        error_bars(chart, [slot], [values], color=colour, markersize=6, capsize=2)
    chart.set_xticks([0, 1], list(PLACES.values()))
    chart.set_xlim(-0.5, 1.5)
    chart.set_xlabel("eigenvalue")
    chart.set_ylabel("SW$_2$ to held-out data")
    return figure


def _frame(axes: Any, reach: float) -> None:
    """A cube around the sphere with its three coordinates."""
    ticks = (-int(reach), 0, int(reach))
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(-reach, reach))
    axes.set(xticks=ticks, yticks=ticks, zticks=ticks)
    axes.tick_params(labelsize=5, pad=-3)
    for number, label in enumerate((axes.set_xlabel, axes.set_ylabel, axes.set_zlabel), 1):
        label(rf"$v_{number}^\top x/\sqrt{{D}}$", fontsize=6, labelpad=-8)
    axes.set_box_aspect((1, 1, 1))


def by_seed(rows: Rows, place: str) -> dict[int, float]:
    """The metric of one sphere by seed."""
    return {row["seed"]: row[METRIC] for row in rows if row["part"] == place}


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """The sphere in the smallest eigenvalue's band is modelled better."""
    finding = Finding.of_mean(
        "a sphere in the last directions is modelled better than one in the first",
        "SW2 of the first minus that of the last directions, paired over seeds",
        paired_differences(by_seed(rows, "first"), by_seed(rows, "last")),
    )
    return (finding,)


FIGURE_01 = Experiment("spheres in the first and the last directions", SCALES, data, draw, verdict)
