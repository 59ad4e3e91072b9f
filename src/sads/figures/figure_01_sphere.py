"""Figure 1: a diffusion transformer on spheres in its first and in its last directions.

x = sqrt(D) V z with z uniform on the unit sphere of R^3. V is drawn by the seed from the band of
the largest eigenvalue, or from that of the smallest: single eigenvectors out of a degenerate band
mean nothing, the band's subspace does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..data import band_directions
from ..draws import DRAWS
from ..geometry import load_geometry
from ..specs import DataSpec
from ..statistics.means import mean_and_error, mean_interval, paired_differences
from .data import Data, Request, Rows
from .style import BLUE, ORANGE, PAGE, sheet
from .trials import geometry_directory, planned, run_parts, samples_of
from .verdict import Finding, positive

TITLE = "spheres in the first and the last directions"
PARTS: tuple[str, ...] = ()
POWERLESS = ("smoke",)
FOLDER = "figure-01"
PLACES = ("last", "first")  # the smallest eigenvalue, the largest
METRIC = "sw2"


@dataclass(frozen=True)
class Settings:
    """Network, shape, training and seeds."""

    network: str
    shape: str
    protocol: str | Mapping[str, Any]
    seeds: tuple[int, ...]


_LAPTOP = {"preset": "laptop", "iterations": 1_000, "learning_rate": 1e-3, "batch_size": 128}
SCALES: Mapping[str, Settings] = MappingProxyType(
    {
        "smoke": Settings("dit-2,depth=2", "1x8x8", "smoke", (0, 1)),
        "laptop": Settings("dit-2", "1x16x16", _LAPTOP, (0, 1, 2)),
        "paper": Settings(
            "dit-2", "1x16x16", {"preset": "paper", "iterations": 10_000}, (0, 1, 2, 3, 4)
        ),
    }
)


def data(request: Request) -> Data:
    """One row for each training, and the coordinates of the first seed's samples."""
    settings = SCALES[request.scale]
    geometry = geometry_directory(request, FOLDER, settings.network, shape=settings.shape)
    spectrum = load_geometry(geometry).spectrum()
    bands = {"first": 0, "last": len(spectrum.bands) - 1}
    grid = {
        "networks": [settings.network],
        "shape": settings.shape,
        "data": [f"sphere:geometry={geometry}:band={bands[place]}" for place in PLACES],
    }
    plan = planned(settings.protocol, settings.seeds, grid)
    rows, pictures = [], {}
    for row in run_parts(request, FOLDER, {"spheres": plan})["spheres"]:
        band = int(DataSpec.parse(row["data"]).band or 0)
        place = next(place for place in PLACES if bands[place] == band)
        # The directions of older draws are not those that the seed stands for now.
        shown = row["seed"] == 0 and row["draws"] == DRAWS
        samples = samples_of(request, FOLDER, row) if shown else None
        if samples is not None:
            v = band_directions(spectrum, band, row["seed"], 3)
            pictures[f"cloud-{place}"] = coordinates(samples, v)
        rows.append(row | {"part": place})
    protocol = {
        "network": settings.network,
        "shape": settings.shape,
        "bands": {p: [spectrum.bands[b].first, spectrum.bands[b].last] for p, b in bands.items()},
        "training": rows[0]["protocol"],
        "seeds": list(settings.seeds),
    }
    return Data(rows, protocol, pictures)


def coordinates(
    samples: Float[np.ndarray, "N ..."], v: Float[np.ndarray, "D 3"]
) -> Float[np.ndarray, "N 3"]:
    """Samples in the three directions, in units of the radius sqrt(D)."""
    return samples.reshape(len(samples), -1) @ v / np.sqrt(len(v))


def draw(data: Data) -> Figure:
    """The clouds of one seed, and the distance of all."""
    figure = sheet(PAGE, 2.6)
    grid = figure.add_gridspec(1, 3, width_ratios=[1.2, 1.2, 0.8])
    known = [np.abs(v) for k, v in data.pictures.items() if k.startswith("cloud")]
    reach = max([1.5, *(float(np.quantile(v, 0.95)) for v in known)])
    ticks = (-int(reach), 0, int(reach))
    names = {"last": "smallest eigenvalue", "first": "largest eigenvalue"}
    for column, (place, colour) in enumerate(zip(PLACES, (BLUE, ORANGE), strict=True)):
        axes: Any = figure.add_subplot(grid[0, column], projection="3d")
        cloud = data.pictures.get(f"cloud-{place}")
        if cloud is not None:
            axes.scatter(*cloud.T, s=3, color=colour, depthshade=True)
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(-reach, reach))
        axes.set(xticks=ticks, yticks=ticks, zticks=ticks)
        axes.tick_params(labelsize=5, pad=-3)
        for number, label in enumerate((axes.set_xlabel, axes.set_ylabel, axes.set_zlabel), 1):
            label(rf"$v_{number}^\top x/\sqrt{{D}}$", fontsize=6, labelpad=-8)
        axes.set_box_aspect((1, 1, 1))
        axes.set_title(f"sphere in the {names[place]}'s band", fontsize=7)
    chart = figure.add_subplot(grid[0, 2])
    for slot, (place, colour) in enumerate(zip(PLACES, (BLUE, ORANGE), strict=True)):
        values = list(by_seed(data.rows, place).values())
        mean, error = mean_and_error(values)
        chart.plot([slot] * len(values), values, ".", color="0.7")
        chart.errorbar(slot, mean, error or 0.0, marker="o", color=colour, capsize=2)
    chart.set_xticks([0, 1], ["smallest", "largest"])
    chart.set_xlim(-0.5, 1.5)
    chart.set_xlabel("eigenvalue")
    chart.set_ylabel("SW$_2$ to held-out data")
    return figure


def by_seed(rows: Rows, place: str) -> dict[int, float]:
    """The metric of one sphere by seed."""
    return {row["seed"]: row[METRIC] for row in rows if row["part"] == place}


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """The sphere in the smallest eigenvalue's band is modelled better."""
    last, first = by_seed(rows, "last"), by_seed(rows, "first")
    value, interval = mean_interval(paired_differences(first, last))
    return (
        Finding(
            "a sphere in the last directions is modelled better than one in the first",
            "SW2 of the first minus that of the last directions, paired over seeds",
            value,
            interval,
            positive(interval),
        ),
    )
