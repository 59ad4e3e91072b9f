"""Figure 2: MSW2 of the U-Net on data along every element of five bases.

Each pixel is one training on rank-one data along one element, in the layout of `data.bases`:
position, frequency, sequency, or scale and place. Frequency bases are shown with index (0, 0) in
the centre.

All trainings of a seed share their initialisation and noise, so elements are not independent: what
is judged are statistics of the mean over seeds, with a bootstrap that draws elements and seeds. One
seed decides nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..data import BASES, centred
from ..randomness import stream
from ..specs import DataSpec
from ..statistics.ranks import bootstrapped, rank_correlation
from ..statistics.resampling import bootstrap_difference, percentiles
from ..sweep.correlation import LEAST_BANDS
from .data import Data, Request, Rows
from .style import PAGE, sheet
from .trials import planned, run_parts
from .verdict import Finding, positive

TITLE = "MSW2 over the elements of five bases"
PARTS = BASES
POWERLESS = ("smoke",)
METRIC = "msw2"
FOLDER = "figure-02"
FREQUENCY = ("dct", "dst", "hadamard")
LOCAL = ("canonical", "haar")
RESAMPLES = 2_000


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
    "steps": 30,
    "samples": 300,
}
SCALES: Mapping[str, Settings] = MappingProxyType(
    {
        "smoke": Settings(
            "iddpm-16,channels=8,groups=8,mults=1x1",
            4,
            {"preset": "smoke", "iterations": 5, "steps": 3},
            (0,),
        ),
        "laptop": Settings("iddpm-16", 8, _SHORT, (0, 1)),
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
        name: planned(settings.protocol, settings.seeds, common | {"bases": [name]})
        for name in names
    }
    found = run_parts(request, FOLDER, plans)
    rows = []
    for name in names:
        for row in found[name]:
            (index,) = DataSpec.parse(row["data"]).indices
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


def table(rows: Rows, name: str) -> Float[np.ndarray, "H W S"]:
    """The metric of each element at its place, for the seeds that all elements have."""
    places: dict[tuple[int, int], dict[int, float]] = {}
    for row in rows:
        if row["basis"] == name:
            places.setdefault((row["row"], row["column"]), {})[row["seed"]] = row[METRIC]
    seeds = sorted(set.intersection(*(set(own) for own in places.values())))
    side = 1 + max(max(place) for place in places)
    found = np.full((side, side, len(seeds)), np.nan)
    for place, own in places.items():
        found[place] = [own[seed] for seed in seeds]
    return found


def draw(data: Data) -> Figure:
    """One heat map a basis, all on one scale."""
    names = list(dict.fromkeys(row["basis"] for row in data.rows))
    figure = sheet(PAGE, 1.75)
    panels = np.atleast_1d(figure.subplots(1, len(names)))
    shown = [table(data.rows, name).mean(axis=2) for name in names]
    low, high = min(v.min() for v in shown), max(v.max() for v in shown)
    image = None
    for axes, name, found in zip(panels, names, shown, strict=True):
        side = len(found)
        extent = (-0.5, side - 0.5, side - 0.5, -0.5)
        if name in FREQUENCY:
            found, extent = centred(found), (0.5 - side, side - 0.5, side - 0.5, 0.5 - side)
        image = axes.imshow(found, cmap="viridis", vmin=low, vmax=high, extent=extent)
        axes.set_title(_TITLES[name])
        axes.set_xlabel(f"{_AXES[name]}, across", fontsize=6)
        axes.set_ylabel(f"{_AXES[name]}, down", fontsize=6)
        axes.tick_params(labelsize=6)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(5, integer=True))
    if image is not None:
        figure.colorbar(image, ax=list(panels), label="MSW$_2$ (lower is better)", shrink=0.9)
    return figure


_TITLES = {"canonical": "canonical", "dct": "DCT", "dst": "DST", "hadamard": "Hadamard"}
_TITLES |= {"haar": "Haar"}
_AXES = {"canonical": "pixel", "dct": "frequency", "dst": "frequency index", "hadamard": "sequency"}
_AXES |= {"haar": "scale, place"}


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """Low frequencies are hard, localised vectors easier, those at the border easiest."""
    tables = {name: table(rows, name) for name in dict.fromkeys(r["basis"] for r in rows)}
    found = [_low_frequencies(name, tables[name]) for name in FREQUENCY if name in tables]
    if "canonical" in tables:
        own = tables["canonical"]
        border = np.ones(own.shape[:2], dtype=bool)
        border[1:-1, 1:-1] = False
        found.append(
            _difference(
                "single pixels at the border are modelled better than others",
                "mean MSW2 inside minus that at the border",
                own[~border],
                own[border],
            )
        )
    waves, local = _joined(tables, FREQUENCY), _joined(tables, LOCAL)
    if (len(waves) and len(local)) or not found:  # Haar alone has no claim of its own
        found.append(
            _difference(
                "vectors localised in space are modelled better than waves",
                "mean MSW2 of frequency bases minus that of canonical and Haar",
                waves,
                local,
            )
        )
    return tuple(found)


def _joined(
    tables: Mapping[str, Float[np.ndarray, "H W S"]], names: tuple[str, ...]
) -> Float[np.ndarray, "n S"]:
    """The elements of those bases that are there."""
    none = np.empty((0, next(iter(tables.values())).shape[2]))
    return np.concatenate([none, *(_elements(tables[name]) for name in names if name in tables)])


def _elements(values: Float[np.ndarray, "H W S"]) -> Float[np.ndarray, "n S"]:
    return values.reshape(-1, values.shape[2])


def _low_frequencies(name: str, values: Float[np.ndarray, "H W S"]) -> Finding:
    """Whether the metric falls with frequency."""
    claim = f"{_TITLES[name]}: low frequencies are modelled worse"
    statistic = "Spearman correlation of MSW2 with minus the frequency"
    first = 1 if name == "dst" else 0  # a sine begins with half a period
    rows, columns = np.indices(values.shape[:2]) + first
    low = -np.hypot(rows, columns).ravel()
    elements = _elements(values)
    if len(elements) < LEAST_BANDS:
        return Finding(claim, statistic, None, None, None)
    whole = rank_correlation(low, elements.mean(axis=1))
    interval = None
    if elements.shape[1] > 1:
        draws = bootstrapped(low, elements, RESAMPLES, stream(0, "an order by frequency"))[:, 0]
        interval = percentiles(draws)
    return Finding(claim, statistic, whole, interval, positive(interval))


def _difference(
    claim: str,
    statistic: str,
    worse: Float[np.ndarray, "n S"],
    better: Float[np.ndarray, "m S"],
) -> Finding:
    """Whether the first mean is above the second."""
    if min(len(worse), len(better)) < LEAST_BANDS:
        return Finding(claim, statistic, None, None, None)
    whole = float(worse.mean() - better.mean())
    if worse.shape[1] < 2:
        return Finding(claim, statistic, whole, None, None)
    generator = stream(0, "a difference of two sets of elements")
    interval = bootstrap_difference(worse, better, RESAMPLES, generator)
    return Finding(claim, statistic, whole, interval, positive(interval))
