"""Figure 2: MSW2 of the U-Net on data along every element of five bases.

Each pixel is one training on rank-one data along one element, in the layout of `data.bases`:
position, frequency, sequency, or scale and place. Frequency bases are shown with index (0, 0) in
the centre.

All trainings of a seed share their initialisation and noise, so elements are not independent.
Therefore statistics of the mean over seeds are judged, with a bootstrap that draws elements and
seeds. One seed decides nothing.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..data import BASES, centred
from ..randomness import stream
from ..specs import parse_shape
from ..statistics.means import paired_values
from ..statistics.ranks import bootstrapped, rank_correlation
from ..statistics.resampling import bootstrap_difference, percentiles
from ..sweep.correlation import LEAST_BANDS
from .data import Data, Experiment, Request, Rows
from .style import PAGE, sheet
from .trials import FIVE, SHORT, SMALL_UNET, Setup, index_of, run_parts
from .verdict import Finding

METRIC = "msw2"
FOLDER = "figure-02"
FREQUENCY = ("dct", "dst", "hadamard")
LOCAL = ("canonical", "haar")
RESAMPLES = 2_000
_SMOKE = {"preset": "smoke", "iterations": 5, "steps": 3}
SCALES: Mapping[str, Setup] = {
    "smoke": Setup(SMALL_UNET, "1x4x4", _SMOKE, (0,)),
    "laptop": Setup("iddpm-16", "1x8x8", SHORT, (0, 1)),
    "paper": Setup("iddpm-16", "1x16x16", "paper", FIVE),
}
_WORDS = {  # each basis, and the property that orders its elements
    "canonical": ("canonical", "pixel"),
    "dct": ("DCT", "frequency"),
    "dst": ("DST", "frequency index"),
    "hadamard": ("Hadamard", "sequency"),
    "haar": ("Haar", "scale, place"),
}


def data(request: Request) -> Data:
    """One row for each training, with its basis and its row and column in the picture."""
    setup = SCALES[request.scale]
    names = request.parts(BASES)
    plans = {name: setup.planned({"indices": "all", "bases": [name]}) for name in names}
    side = parse_shape(str(setup.shape))[-1]
    rows = [
        row | {"basis": name, "row": index_of(row) // side, "column": index_of(row) % side}
        for name, trials in run_parts(request, FOLDER, plans).items()
        for row in trials
    ]
    protocol = {
        "network": setup.network,
        "shape": setup.shape,
        "bases": list(names),
        "training": rows[0]["protocol"],
        "seeds": list(setup.seeds),
        "trials": len(rows),
    }
    return Data(rows, protocol)


def table(rows: Rows, name: str) -> Float[np.ndarray, "H W S"]:
    """The metric of each element at its place, for the seeds that all elements have."""
    seeds, elements = paired_values(
        ((row["row"], row["column"]), row["seed"], row[METRIC])
        for row in rows
        if row["basis"] == name
    )
    side = 1 + max(max(place) for place in elements)
    values = np.full((side, side, len(seeds)), np.nan)
    for place, by_seed in elements.items():
        values[place] = by_seed
    return values


def draw(data: Data) -> Figure:
    """One heat map a basis, all on one scale."""
    names = list(dict.fromkeys(row["basis"] for row in data.rows))
    figure = sheet(PAGE, 1.75)
    panels = np.atleast_1d(figure.subplots(1, len(names)))
    maps = [table(data.rows, name).mean(axis=2) for name in names]
    low, high = min(v.min() for v in maps), max(v.max() for v in maps)
    image = None
    for axes, name, values in zip(panels, names, maps, strict=True):
        side = len(values)
        extent = (-0.5, side - 0.5, side - 0.5, -0.5)
        if name in FREQUENCY:
            values, extent = centred(values), (0.5 - side, side - 0.5, side - 0.5, 0.5 - side)
        image = axes.imshow(values, cmap="viridis", vmin=low, vmax=high, extent=extent)
        title, order = _WORDS[name]
        axes.set_title(title)
        axes.set_xlabel(f"{order}, across", fontsize=6)
        axes.set_ylabel(f"{order}, down", fontsize=6)
        axes.tick_params(labelsize=6)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(5, integer=True))
    if image is not None:
        figure.colorbar(image, ax=list(panels), label="MSW$_2$ (lower is better)", shrink=0.9)
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """Low frequencies are hard, localised vectors easier, those at the border easiest."""
    tables = {name: table(rows, name) for name in dict.fromkeys(r["basis"] for r in rows)}
    findings = [_low_frequencies(name, tables[name]) for name in FREQUENCY if name in tables]
    if "canonical" in tables:
        pixels = tables["canonical"]
        border = np.ones(pixels.shape[:2], dtype=bool)
        border[1:-1, 1:-1] = False
        findings.append(
            _difference(
                "single pixels at the border are modelled better than others",
                "mean MSW2 inside minus that at the border",
                pixels[~border],
                pixels[border],
            )
        )
    waves, local = (
        [_elements(tables[name]) for name in names if name in tables]
        for names in (FREQUENCY, LOCAL)
    )
    if (waves and local) or not findings:  # Haar alone has no claim of its own
        findings.append(
            _difference(
                "vectors localised in space are modelled better than waves",
                "mean MSW2 of frequency bases minus that of canonical and Haar",
                np.concatenate(waves or [np.empty((0, 1))]),
                np.concatenate(local or [np.empty((0, 1))]),
            )
        )
    return tuple(findings)


def _elements(values: Float[np.ndarray, "H W S"]) -> Float[np.ndarray, "n S"]:
    return values.reshape(-1, values.shape[2])


def _low_frequencies(name: str, values: Float[np.ndarray, "H W S"]) -> Finding:
    """Whether the metric falls with frequency."""
    claim = f"{_WORDS[name][0]}: low frequencies are modelled worse"
    statistic = "Spearman correlation of MSW2 with minus the frequency"
    first = 1 if name == "dst" else 0  # a sine begins with half a period
    rows, columns = np.indices(values.shape[:2]) + first
    low = -np.hypot(rows, columns).ravel()
    elements = _elements(values)
    if len(elements) < LEAST_BANDS:
        return Finding(claim, statistic, None, None, None)
    interval = None
    if elements.shape[1] > 1:
        draws = bootstrapped(low, elements, RESAMPLES, stream(0, "an order by frequency"))
        interval = percentiles(draws[:, 0])
    return Finding.above(claim, statistic, rank_correlation(low, elements.mean(axis=1)), interval)


def _difference(
    claim: str,
    statistic: str,
    worse: Float[np.ndarray, "n S"],
    better: Float[np.ndarray, "m S"],
) -> Finding:
    """Whether the first mean is above the second."""
    if min(len(worse), len(better)) < LEAST_BANDS:
        return Finding(claim, statistic, None, None, None)
    interval = None
    if worse.shape[1] > 1:
        generator = stream(0, "a difference of two sets of elements")
        interval = bootstrap_difference(worse, better, RESAMPLES, generator)
    return Finding.above(claim, statistic, float(worse.mean() - better.mean()), interval)


FIGURE_02 = Experiment(
    "MSW2 over the elements of five bases", SCALES, data, draw, verdict, parts=BASES
)
