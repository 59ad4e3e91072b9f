"""Figure 2 by exact risk: rank-one data along elements of five bases, three networks.

The experiment is `benchmarks/claims/figure-02.toml`: every fifth row and column of the 16x16
elements of each basis, five seeds, the risk in all, along the element and off it.
"""

from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..data import BASES
from ..randomness import stream
from ..specs import DataSpec, parse_shape
from ..statistics.means import paired_values
from ..statistics.resampling import bootstrap_difference
from .data import Data, Experiment, Request, Rows
from .figure_02_bases import FREQUENCY, LOCAL, RESAMPLES
from .stored_experiments import (
    ANY_SCALE,
    WORDS,
    finished,
    if_enough,
    last_step,
    measured,
    order_over,
    present,
    protocol_of,
)
from .style import PAGE, sheet
from .verdict import Finding

EXPERIMENT = "figure-02"
MEASURES = ("risk", "risk_along", "risk_off")
Place = tuple[int, int]


def data(request: Request) -> Data:
    """One row for each trial and measure, with basis, row and column of the element."""
    trials = finished(request.rows, EXPERIMENT)
    rows: list[dict[str, Any]] = []
    for trial in trials:
        spec = DataSpec.parse(trial["data"])
        side = parse_shape(trial["shape"])[-1]
        row, column = divmod(spec.indices[0], side)
        about = {"network": trial["network"], "basis": spec.source, "row": row, "column": column}
        for line in measured(trial, MEASURES):
            rows.append(about | {"seed": trial["seed"]} | line)
    protocol = protocol_of(trials, EXPERIMENT)
    return Data(rows, protocol | {"shape": trials[0]["shape"]})


def elements(
    rows: Rows, network: str, measure: str, basis: str
) -> tuple[list[Place], Float[np.ndarray, "n s"]]:
    """The places of a basis' elements, and the measure by element and seed."""
    last = last_step(rows)
    wanted = (network, measure, basis, last)
    own = [r for r in rows if (r["network"], r["measure"], r["basis"], r["step"]) == wanted]
    if not own:
        return [], np.empty((0, 0))
    _, values = paired_values(((r["row"], r["column"]), r["seed"], r["value"]) for r in own)
    places = sorted(values)
    return places, np.array([values[place] for place in places]).reshape(len(places), -1)


def draw(data: Data) -> Figure:
    """Maps of the risk: a row for each network, a column for each basis, one scale a row."""
    networks, bases = present(data.rows, "network"), [b for b in BASES if _has(data.rows, b)]
    figure = sheet(PAGE, 1.5 * len(networks))
    panels = figure.subplots(len(networks), len(bases), squeeze=False)
    for network, own in zip(networks, panels, strict=True):
        tables = [elements(data.rows, network, "risk", basis) for basis in bases]
        known = [table.mean(axis=1) for _, table in tables if table.size]
        low, high = (f(np.concatenate(known)) if known else 1.0 for f in (np.min, np.max))
        image = None
        for axes, basis, (places, table) in zip(own, bases, tables, strict=True):
            if table.size:
                image = axes.imshow(_picture(places, table.mean(axis=1)), vmin=low, vmax=high)
            axes.set_title(f"{basis}\n{network}", fontsize=6)
            axes.tick_params(labelsize=5)
        if image is not None:
            figure.colorbar(image, ax=list(own), label="risk", shrink=0.9)
    return figure


def _has(rows: Rows, basis: str) -> bool:
    return any(row["basis"] == basis for row in rows)


def _picture(places: list[Place], values: Float[np.ndarray, " n"]) -> Float[np.ndarray, "h w"]:
    """Values at the rows and columns that were trained."""
    heights, widths = (sorted({place[axis] for place in places}) for axis in (0, 1))
    picture = np.full((len(heights), len(widths)), np.nan)
    for (row, column), value in zip(places, values, strict=True):
        picture[heights.index(row), widths.index(column)] = value
    return picture


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """For each network and measure: frequencies, the constant, places and the border."""
    return tuple(
        finding
        for network, measure in product(present(rows, "network"), MEASURES)
        for finding in _findings(rows, network, measure)
    )


def _findings(rows: Rows, network: str, measure: str) -> list[Finding]:
    about = f"{network}, {WORDS[measure]}"
    tables = {basis: elements(rows, network, measure, basis) for basis in present(rows, "basis")}
    side = 1 + max(max(place) for places, _ in tables.values() for place in places)
    findings = [
        _frequencies(about, basis, *tables[basis]) for basis in FREQUENCY if basis in tables
    ]
    if "dct" in tables:
        findings.append(_constant(about, *tables["dct"]))
    if "canonical" in tables:
        places, table = tables["canonical"]
        border = np.array([not {0, side - 1}.isdisjoint(place) for place in places], dtype=bool)
        findings.append(
            _difference(
                f"{about}: single pixels at the border are modelled better than others",
                "mean inside minus that at the border",
                table[~border],
                table[border],
            )
        )
    waves, local = (
        [tables[basis][1] for basis in bases if basis in tables and tables[basis][1].size]
        for bases in (FREQUENCY, LOCAL)
    )
    if waves and local:
        findings.append(
            _difference(
                f"{about}: vectors localised in space are modelled better than waves",
                "mean of the frequency bases minus that of canonical and Haar",
                np.concatenate(waves),
                np.concatenate(local),
            )
        )
    return findings


def _frequencies(
    about: str, basis: str, places: list[Place], table: Float[np.ndarray, "n s"]
) -> Finding:
    """Whether low frequencies are modelled worse."""
    first = 1 if basis == "dst" else 0  # a sine begins with half a period
    low = -np.array([np.hypot(row + first, column + first) for row, column in places])
    finding = Finding.above(
        f"{about}: low frequencies are modelled worse, {basis}",
        f"Spearman correlation with minus the frequency over {len(places)} elements",
        *order_over(low, table),
    )
    return if_enough(finding, table.shape[1])


def _constant(about: str, places: list[Place], table: Float[np.ndarray, "n s"]) -> Finding:
    """Whether the constant image is modelled worse than the other elements."""
    claim = f"{about}: the constant image is modelled worse than other frequencies"
    gaps: list[float] = []
    if (0, 0) in places and len(places) > 1:
        constant = places.index((0, 0))
        gaps = list(table[constant] - np.delete(table, constant, axis=0).mean(axis=0))
    finding = Finding.of_mean(
        claim, f"constant minus the mean of the others, paired over {len(gaps)} seeds", gaps
    )
    return if_enough(finding, len(gaps))


def _difference(
    claim: str, statistic: str, worse: Float[np.ndarray, "n s"], better: Float[np.ndarray, "m s"]
) -> Finding:
    seeds = min(worse.shape[1], better.shape[1])
    if seeds < 2 or not (len(worse) and len(better)):
        return Finding(claim, statistic, None, None, None)
    generator = stream(0, "a difference of two sets of trained elements")
    interval = bootstrap_difference(worse[:, :seeds], better[:, :seeds], RESAMPLES, generator)
    value = float(worse[:, :seeds].mean() - better[:, :seeds].mean())
    return if_enough(Finding.above(claim, statistic, value, interval), seeds)


FIGURE_2R = Experiment(
    "exact risk over elements of five bases",
    ANY_SCALE,
    data,
    draw,
    verdict,
    powerless=(),
    trials=False,
)
