"""Figure 2: MSW2 of the U-Net on data along every element of five bases.

Each pixel is one training on rank-one data along one element, in the layout of `data.bases`:
position, frequency, sequency, or scale and place. Frequency bases are shown with index (0, 0) in
the centre.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..data import BASES, centred
from ..sweep import Specification
from ..sweep.statistics import LEAST_BANDS
from .data import Data, Request, Rows
from .style import PAGE, sheet
from .trials import run_parts
from .verdict import Finding, Interval, bootstrap_interval, positive, rank_correlation

TITLE = "MSW2 over the elements of five bases"
PARTS = BASES
POWERLESS = ("smoke",)
METRIC = "msw2"
FOLDER = "figure-02"
FREQUENCY = ("dct", "dst", "hadamard")
LOCAL = ("canonical", "haar")


@dataclass(frozen=True)
class Settings:
    """Network, side of the square images, protocol and seeds."""

    network: str
    side: int
    protocol: str | Mapping[str, Any]
    seeds: tuple[int, ...]


_SHORT = {
    "preset": "laptop",
    "iterations": 150,
    "batch_size": 64,
    "learning_rate": 1e-3,
    "steps": 50,
    "samples": 500,
}
SCALES: Mapping[str, Settings] = MappingProxyType(
    {
        "smoke": Settings(
            "iddpm-16,channels=8,groups=8,mults=1x1",
            4,
            {"preset": "smoke", "iterations": 5, "steps": 3},
            (0,),
        ),
        "laptop": Settings("iddpm-16", 8, _SHORT, (0,)),
        "paper": Settings("iddpm-16", 16, "paper", (0, 1, 2, 3, 4)),
    }
)


def data(request: Request) -> Data:
    """One row for each training, with its basis and its row and column in the picture."""
    settings = SCALES[request.scale]
    shape = f"1x{settings.side}x{settings.side}"
    names = request.parts(PARTS)
    common = {"networks": [settings.network], "shape": shape, "indices": "all"}
    plans = {
        name: Specification.model_validate(
            {
                "protocol": settings.protocol,
                "seeds": settings.seeds,
                "keep": "samples",
                "grid": [common | {"bases": [name]}],
            }
        )
        for name in names
    }
    found = run_parts(request, FOLDER, plans)
    rows = []
    for name in names:
        for row in found[name]:
            index = int(row["data"].rpartition(":")[2])
            place = {"row": index // settings.side, "column": index % settings.side}
            rows.append(row | {"basis": name} | place)
    protocol = {
        "network": settings.network,
        "shape": shape,
        "bases": list(names),
        "training": rows[0]["protocol"],
        "seeds": list(settings.seeds),
        "trials": len(rows),
    }
    return Data(rows, protocol)


def picture(rows: Rows, name: str) -> Float[np.ndarray, "H W"]:
    """The mean over seeds of each element, at its place."""
    places: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        if row["basis"] == name:
            places.setdefault((row["row"], row["column"]), []).append(row[METRIC])
    side = 1 + max(max(place) for place in places)
    found = np.full((side, side), np.nan)
    for place, values in places.items():
        found[place] = np.mean(values)
    return found


def draw(data: Data) -> Figure:
    """One heat map a basis, all on one scale."""
    names = list(dict.fromkeys(row["basis"] for row in data.rows))
    figure = sheet(PAGE, 1.75)
    panels = np.atleast_1d(figure.subplots(1, len(names)))
    values = np.array([row[METRIC] for row in data.rows])
    image = None
    for axes, name in zip(panels, names, strict=True):
        found = picture(data.rows, name)
        side = len(found)
        extent = (-0.5, side - 0.5, side - 0.5, -0.5)
        if name in FREQUENCY:
            found, extent = centred(found), (0.5 - side, side - 0.5, side - 0.5, 0.5 - side)
        image = axes.imshow(
            found, cmap="viridis", vmin=values.min(), vmax=values.max(), extent=extent
        )
        axes.set_title(_TITLES[name])
        axes.set_xlabel(_AXES[name], fontsize=7)
        axes.tick_params(labelsize=6)
    if image is not None:
        figure.colorbar(image, ax=list(panels), label="MSW$_2$ (lower is better)", shrink=0.9)
    return figure


_TITLES = {"canonical": "canonical", "dct": "DCT", "dst": "DST", "hadamard": "Hadamard"}
_TITLES |= {"haar": "Haar"}
_AXES = {"canonical": "pixel", "dct": "frequency", "dst": "frequency", "hadamard": "sequency"}
_AXES |= {"haar": "scale and place"}


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """Low frequencies are hard, localised vectors easier, those at the border easiest."""
    pictures = {name: picture(rows, name) for name in dict.fromkeys(r["basis"] for r in rows)}
    found = [_low_frequencies(name, pictures[name]) for name in FREQUENCY if name in pictures]
    local = [pictures[name].ravel() for name in LOCAL if name in pictures]
    other = [pictures[name].ravel() for name in FREQUENCY if name in pictures]
    if local and other:
        found.append(
            _difference(
                "vectors localised in space are modelled better than waves",
                "mean MSW2 of frequency bases minus that of canonical and Haar",
                np.concatenate(other),
                np.concatenate(local),
            )
        )
    if "canonical" in pictures:
        inner = pictures["canonical"][1:-1, 1:-1]
        border = np.ones_like(pictures["canonical"], dtype=bool)
        border[1:-1, 1:-1] = False
        found.append(
            _difference(
                "single pixels at the border are modelled better than others",
                "mean MSW2 inside minus that at the border",
                inner.ravel(),
                pictures["canonical"][border],
            )
        )
    return tuple(found)


def _low_frequencies(name: str, values: Float[np.ndarray, "H W"]) -> Finding:
    """Does the metric fall with frequency? Elements are the units of the bootstrap."""
    claim = f"{_TITLES[name]}: low frequencies are modelled worse"
    statistic = "Spearman correlation of MSW2 with minus the frequency"
    if values.size < LEAST_BANDS:
        return Finding(claim, statistic, None, None, None)
    rows, columns = np.indices(values.shape)
    radius = np.hypot(rows, columns).ravel()
    flat = values.ravel()

    def correlation(chosen: np.ndarray) -> float:
        return -rank_correlation(radius[chosen], flat[chosen])

    interval = bootstrap_interval(len(flat), correlation, resamples=1_000)
    whole = correlation(np.arange(len(flat)))
    return Finding(claim, statistic, whole, interval, positive(interval))


def _difference(claim: str, statistic: str, worse: np.ndarray, better: np.ndarray) -> Finding:
    """Whether the first mean is above the second, with a bootstrap over elements of both."""
    if min(len(worse), len(better)) < LEAST_BANDS:
        return Finding(claim, statistic, None, None, None)
    generator = np.random.default_rng(0)
    draws = [
        generator.choice(worse, len(worse)).mean() - generator.choice(better, len(better)).mean()
        for _ in range(2_000)
    ]
    low, high = np.quantile(draws, [0.025, 0.975])
    interval: Interval = (float(low), float(high))
    return Finding(
        claim, statistic, float(worse.mean() - better.mean()), interval, positive(interval)
    )
