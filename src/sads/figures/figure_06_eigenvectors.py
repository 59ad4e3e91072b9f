"""Figure 6: networks trained on data along the eigenvectors of their own geometry.

For each architecture: rank-one data x = sqrt(D) g v along nine directions v, from the largest to
the smallest eigenvalue, MSW2 of the samples of each training, mean and standard error over seeds.
The transformers' eigenvalues repeat, so there the directions are drawn from bands. A number behind
a direction is its window: the neighbouring levels on either side over which it may be spread.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..errors import InputError
from ..presentation.mosaics import pictured
from ..presentation.plots.directions import dft_energy, shown_indices
from ..statistics.means import paired_differences
from ..sweep.correlation import correlate
from .data import Data, Experiment, Request, Rows
from .style import BLUE, ORANGE, PAGE, error_bars, sheet, show
from .trials import FIVE, SMALL_UNET, THREE, Setup, index_of, run_parts
from .verdict import Finding

METRIC = "msw2"
FOLDER = "figure-06"


@dataclass(frozen=True)
class Part:
    """An architecture and where the directions of its trainings come from."""

    setup: Setup
    places: Mapping[str, Any]


def _parts(protocol: str, seeds: tuple[int, ...]) -> dict[str, Part]:
    nine = {"indices": shown_indices(256)}

    def part(network: str, places: Mapping[str, Any], tolerance: float | None = None) -> Part:
        return Part(Setup(network, None, protocol, seeds, tolerance=tolerance), places)

    return {
        "nearest": part("iddpm-16", nine, 0.006),
        "area": part("iddpm-16,resampling=area", nine, 0.006),
        "dit-2": part("dit-2", {"bands": [0, 2, 4, 6, 8, 10, 12, 14, 15]}),
        "dit-4": part("dit-4", {"bands": "all"}),
    }


def _smoke_parts() -> dict[str, Part]:
    five = {"indices": shown_indices(64, 5)}

    def part(network: str, places: Mapping[str, Any], networks: int | None = None) -> Part:
        return Part(Setup(network, "1x8x8", "smoke", (0,), networks), places)

    return {
        "nearest": part(SMALL_UNET, five, 1_536),
        "area": part(f"{SMALL_UNET},resampling=area", five, 1_536),
        "dit-2": part("dit-2,depth=2", {"bands": [0, 2, 4, 6, 7]}),
        "dit-4": part("dit-4,depth=2", {"bands": "all"}),
    }


SCALES: Mapping[str, Mapping[str, Part]] = {
    "smoke": _smoke_parts(),
    "laptop": _parts("laptop", THREE),
    "paper": _parts("paper", FIVE),
}
PARTS = tuple(SCALES["paper"])


def data(request: Request) -> Data:
    """One row for each training; the eigenvectors as pictures."""
    parts = {name: SCALES[request.scale][name] for name in request.parts(PARTS)}
    plans, pictures = {}, {}
    for name, part in parts.items():
        place, geometry = part.setup.geometry(request, f"{FOLDER}-{name}")
        plans[name] = part.setup.planned({"geometry": place, **part.places})
        spectrum = geometry.spectrum()
        wanted = part.places.get("bands", [])
        bands = range(len(spectrum.bands)) if wanted == "all" else wanted
        indices = part.places.get("indices", [spectrum.bands[b].first for b in bands])
        shown = [pictured(spectrum.vector(i), spectrum.structure) for i in indices]
        pictures[f"vectors-{name}"] = np.stack(shown)
        pictures[f"indices-{name}"] = np.array(indices)
        pictures[f"windows-{name}"] = spectrum.windows
        pictures[f"eigenvalues-{name}"] = spectrum.eigenvalues / spectrum.eigenvalues[0]
    rows = [row for trials in run_parts(request, FOLDER, plans).values() for row in trials]
    timings = ("train_seconds", "sample_seconds", "distance_seconds")
    any_setup = next(iter(parts.values())).setup
    protocol = {
        "networks": {name: part.setup.network for name, part in parts.items()},
        "shape": any_setup.shape or "1x16x16",
        "training": rows[0]["protocol"],
        "seeds": list(any_setup.seeds),
        "trials": len(rows),
        "seconds_of_all_trials": round(sum(row[name] for row in rows for name in timings)),
    }
    return Data(rows, protocol, pictures)


def curve(rows: Rows, part: str) -> dict[int, list[float]]:
    """The metric of each direction, one value a seed, by the first index of its band."""
    groups: dict[int, list[float]] = {}
    for row in sorted((row for row in rows if row["part"] == part), key=index_of):
        groups.setdefault(index_of(row), []).append(row[METRIC])
    return groups


def draw(data: Data) -> Figure:
    """A panel for each architecture: the metric, the eigenvalues, eigenvectors and their DFT."""
    names = data.parts
    high = (len(names) + 1) // 2
    figure = sheet(PAGE if len(names) > 1 else PAGE / 2, 3.1 * high)
    panels = np.asarray(figure.subfigures(high, min(2, len(names)), squeeze=False)).reshape(-1)
    for panel, name in zip(panels, names, strict=False):
        _panel(panel, data, name)
    return figure


def _panel(panel: Any, data: Data, name: str) -> None:
    upper, lower = np.asarray(panel.subfigures(2, 1, height_ratios=[1.6, 1]))
    axes = upper.subplots()
    values = curve(data.rows, name)
    slots, places = np.arange(len(values)), list(values)
    error_bars(axes, slots, values.values(), color=BLUE)
    windows = data.pictures[f"windows-{name}"]
    axes.set_xticks(slots, [_tick(place, int(windows[place])) for place in places])
    axes.set_xlabel("direction (first index of its band; 1: largest eigenvalue)", fontsize=7)
    axes.set_ylabel("MSW$_2$", color=BLUE)
    axes.set_title(data.protocol["networks"][name])
    other = axes.twinx()
    eigenvalues = data.pictures[f"eigenvalues-{name}"][places]
    shown = np.where(eigenvalues > 0, eigenvalues, np.nan)
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
    findings = []
    for name in dict.fromkeys(row["part"] for row in rows):
        own = [row for row in rows if row["part"] == name]
        findings += [_order(name, own), _ends(name, own)]
    return tuple(findings)


def _order(name: str, rows: Rows) -> Finding:
    """Whether the metric follows the eigenvalue over all bands."""
    claim = f"{name}: data along larger eigenvalues is modelled worse"
    try:
        correlation = correlate(rows, METRIC)[0]
    except InputError:
        return Finding(claim, "Spearman correlation over bands", None, None, None)
    statistic = f"Spearman correlation of MSW2 and eigenvalue over {correlation.bands} bands"
    spearman = correlation.spearman
    return Finding.above(claim, statistic, spearman.value, spearman.interval)


def _ends(name: str, rows: Rows) -> Finding:
    """Whether the metric of the largest eigenvalue is above that of the smallest."""
    gaps = end_gaps(rows)
    won = sum(gap > 0 for gap in gaps)
    return Finding.of_mean(
        f"{name}: the smallest eigenvalue is modelled better than the largest",
        f"MSW2 of the largest minus the smallest eigenvalue, paired; above 0 in {won} of "
        f"{len(gaps)} seeds",
        gaps,
    )


def end_gaps(rows: Rows) -> list[float]:
    """The metric of the largest eigenvalue minus that of the smallest, for seeds that have both."""
    places = sorted({index_of(row) for row in rows})
    if len(places) < 2:
        return []
    first, last = (
        {row["seed"]: row[METRIC] for row in rows if index_of(row) == place}
        for place in (places[0], places[-1])
    )
    return paired_differences(first, last)


FIGURE_06 = Experiment(
    "MSW2 along the eigenvectors of the geometry", SCALES, data, draw, verdict, parts=PARTS
)
