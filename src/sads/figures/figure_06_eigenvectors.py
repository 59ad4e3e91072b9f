"""Figure 6: networks trained on data along the eigenvectors of their own geometry.

For each architecture: rank-one data x = sqrt(D) g v along nine directions v, from the largest to
the smallest eigenvalue, MSW2 of the samples of each training, mean and standard error over seeds.
The transformers' eigenvalues repeat, so there the directions are drawn from bands. A number behind
a direction is its window: it may be spread over so many neighbouring levels on either side.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..errors import InputError
from ..geometry import load_geometry
from ..presentation.plots.directions import dft_energy, pictured, shown_indices
from ..specs import DataSpec
from ..statistics.means import mean_and_error, mean_interval
from ..sweep.correlation import correlate
from .data import Data, Request, Rows
from .style import BLUE, ORANGE, PAGE, sheet, show
from .trials import geometry_directory, planned, run_parts
from .verdict import Finding, positive

TITLE = "MSW2 along the eigenvectors of the geometry"
POWERLESS = ("smoke",)
METRIC = "msw2"
FOLDER = "figure-06"


@dataclass(frozen=True)
class Part:
    """An architecture, the goal of its geometry, and where its directions come from."""

    network: str
    goal: Mapping[str, Any]
    places: Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """Architectures, shape, protocol and seeds."""

    parts: Mapping[str, Part]
    shape: str | None
    protocol: str
    seeds: tuple[int, ...]


_NINE = {"indices": shown_indices(256)}
_FINE: dict[str, Any] = {"tolerance": 0.006}
_PARTS = {
    "nearest": Part("iddpm-16", _FINE, _NINE),
    "area": Part("iddpm-16,resampling=area", _FINE, _NINE),
    "dit-2": Part("dit-2", {}, {"bands": [0, 2, 4, 6, 8, 10, 12, 14, 15]}),
    "dit-4": Part("dit-4", {}, {"bands": "all"}),
}
_SMALL = "iddpm-16,channels=8,groups=8,mults=1x1"
_FIVE = {"indices": shown_indices(64, 5)}
_SMOKE = {
    "nearest": Part(_SMALL, {"networks": 1_536}, _FIVE),
    "area": Part(f"{_SMALL},resampling=area", {"networks": 1_536}, _FIVE),
    "dit-2": Part("dit-2,depth=2", {}, {"bands": [0, 2, 4, 6, 7]}),
    "dit-4": Part("dit-4,depth=2", {}, {"bands": "all"}),
}
PARTS = tuple(_PARTS)
SCALES: Mapping[str, Settings] = MappingProxyType(
    {
        "smoke": Settings(_SMOKE, "1x8x8", "smoke", (0,)),
        "laptop": Settings(_PARTS, None, "laptop", (0, 1, 2)),
        "paper": Settings(_PARTS, None, "paper", (0, 1, 2, 3, 4)),
    }
)


def data(request: Request) -> Data:
    """One row for each training; the eigenvectors as pictures."""
    settings = SCALES[request.scale]
    names = request.parts(PARTS)
    plans, pictures = {}, {}
    for name in names:
        part = settings.parts[name]
        place = geometry_directory(
            request, f"{FOLDER}-{name}", part.network, shape=settings.shape, **part.goal
        )
        grid = {"networks": [part.network], "shape": settings.shape, "geometry": place}
        plans[name] = planned(settings.protocol, settings.seeds, {**grid, **part.places})
        spectrum = load_geometry(place).spectrum()
        first = [spectrum.bands[b].first for b in _bands(part, len(spectrum.bands))]
        indices = part.places.get("indices", first)
        shown = [pictured(spectrum.vector(i), spectrum.structure) for i in indices]
        pictures[f"vectors-{name}"] = np.stack(shown)
        pictures[f"indices-{name}"] = np.array(indices)
        pictures[f"windows-{name}"] = spectrum.windows
        pictures[f"eigenvalues-{name}"] = spectrum.eigenvalues / spectrum.eigenvalues[0]
    found = run_parts(request, FOLDER, plans)
    rows = [row for name in names for row in found[name]]
    protocol = {
        "networks": {name: settings.parts[name].network for name in names},
        "shape": settings.shape or "1x16x16",
        "training": rows[0]["protocol"],
        "seeds": list(settings.seeds),
        "trials": len(rows),
        "seconds_of_all_trials": round(
            sum(r[k] for r in rows for k in ("train_seconds", "sample_seconds", "distance_seconds"))
        ),
    }
    return Data(rows, protocol, pictures)


def _bands(part: Part, count: int) -> list[int]:
    wanted = part.places.get("bands", [])
    return list(range(count)) if wanted == "all" else list(wanted)


def curve(rows: Rows, part: str) -> list[tuple[int, float, float | None]]:
    """First index of the band, mean and standard error over seeds, for each direction."""
    groups: dict[tuple[int, str], list[float]] = {}
    for row in rows:
        if row["part"] == part:
            groups.setdefault((_index(row), row["data"]), []).append(row[METRIC])
    return [(place, *mean_and_error(values)) for (place, _), values in sorted(groups.items())]


def _index(row: Mapping[str, Any]) -> int:
    """The index that a trial's data names; the first of its band where it names a band."""
    named = DataSpec.parse(row["data"]).indices
    return named[0] if named else int(row["band_first"])


def draw(data: Data) -> Figure:
    """A panel for each architecture: the metric, the eigenvalues, eigenvectors and their DFT."""
    names = list(dict.fromkeys(row["part"] for row in data.rows))
    high = (len(names) + 1) // 2
    figure = sheet(PAGE if len(names) > 1 else PAGE / 2, 3.1 * high)
    panels = np.asarray(figure.subfigures(high, min(2, len(names)), squeeze=False)).reshape(-1)
    for panel, name in zip(panels, names, strict=False):
        _panel(panel, data, name)
    return figure


def _panel(panel: Any, data: Data, name: str) -> None:
    upper, lower = np.asarray(panel.subfigures(2, 1, height_ratios=[1.6, 1]))
    axes = upper.subplots()
    found = curve(data.rows, name)
    slots = np.arange(len(found))
    errors = [error or 0.0 for _, _, error in found]
    axes.errorbar(slots, [m for _, m, _ in found], errors, color=BLUE, marker="o", markersize=3)
    windows = data.pictures[f"windows-{name}"]
    axes.set_xticks(slots, [_tick(place, int(windows[place])) for place, _, _ in found])
    axes.set_xlabel("direction (first index of its band; 1: largest eigenvalue)", fontsize=7)
    axes.set_ylabel("MSW$_2$", color=BLUE)
    axes.set_title(data.protocol["networks"][name])
    other = axes.twinx()
    values = data.pictures[f"eigenvalues-{name}"][[place for place, _, _ in found]]
    shown = np.where(values > 0, values, np.nan)
    other.semilogy(slots, shown, color=ORANGE, marker="s", markersize=2.5, linestyle="--")
    other.set_ylabel("eigenvalue / largest", color=ORANGE)
    other.spines["right"].set_visible(True)
    vectors = data.pictures[f"vectors-{name}"]
    pictures = lower.subplots(2, len(vectors), squeeze=False)
    for column, vector in enumerate(vectors):
        show(pictures[0, column], vector)
        show(pictures[1, column], dft_energy(vector), signed=False)
    pictures[0, 0].set_ylabel("$u$", rotation=0, labelpad=6)
    pictures[1, 0].set_ylabel("DFT", fontsize=6)


def _tick(index: int, window: int) -> str:
    """The name of a direction, and its window where that is not zero."""
    return f"$u_{{{index + 1}}}$" + (f"\n± {window}" if window else "")


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """For each architecture: the correlation with the eigenvalue, and largest against smallest."""
    names = dict.fromkeys(row["part"] for row in rows)
    return tuple(finding for name in names for finding in _findings(rows, name))


def _findings(rows: Rows, name: str) -> tuple[Finding, Finding]:
    own = [row for row in rows if row["part"] == name]
    gaps = list(end_gaps(own).values())
    value, interval = mean_interval(gaps)
    won = sum(gap > 0 for gap in gaps)
    ends = Finding(
        f"{name}: the smallest eigenvalue is modelled better than the largest",
        f"MSW2 of the largest minus the smallest eigenvalue, paired; above 0 in {won} of "
        f"{len(gaps)} seeds",
        value,
        interval,
        positive(interval),
    )
    claim = f"{name}: data along larger eigenvalues is modelled worse"
    try:
        found = correlate(own, METRIC)[0]
    except InputError:
        return Finding(claim, "Spearman correlation over bands", None, None, None), ends
    spearman = found.spearman
    statistic = f"Spearman correlation of MSW2 and eigenvalue over {found.bands} bands"
    holds = positive(spearman.interval)
    return Finding(claim, statistic, spearman.value, spearman.interval, holds), ends


def end_gaps(rows: Rows) -> dict[int, float]:
    """The metric of the largest eigenvalue minus that of the smallest, for seeds that have both."""
    places = sorted({_index(row) for row in rows})
    if len(places) < 2:
        return {}
    first, last = (
        {row["seed"]: row[METRIC] for row in rows if _index(row) == place}
        for place in (places[0], places[-1])
    )
    return {seed: first[seed] - last[seed] for seed in sorted(first.keys() & last.keys())}
