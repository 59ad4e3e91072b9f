"""Figure 1 with five seeds: spheres, and the risk along and off the sphere's subspace.

The experiment is `benchmarks/claims/figure-01.toml`: a sphere in three directions of the largest
eigenvalue or of the smallest, for dit-2 as in the paper and for a U-Net that sees the time. Every
difference is the first directions minus the last, paired by seed; the paper's claim is that SW2 is
larger in the first.
"""

from matplotlib.figure import Figure

from ..specs import DataSpec
from .data import Data, Experiment, Request, Row, Rows
from .stored_experiments import (
    ANY_SCALE,
    WORDS,
    finished,
    if_enough,
    last_step,
    measured,
    present,
    profile,
    protocol_of,
)
from .style import BLUE, ORANGE, PAGE, error_bars, legend_below, logarithmic, sheet
from .verdict import Finding

EXPERIMENT = "figure-01"
MEASURES = ("sw2", "risk", "risk_along", "risk_off")


def data(request: Request) -> Data:
    """One row for each trial and measure; place 0 for the first directions, 1 for the last."""
    trials = finished(request.rows, EXPERIMENT)
    rows = [
        {
            "network": trial["network"],
            "place": _place(trial),
            "eigenvalue": float(1 - _place(trial)),
            "seed": trial["seed"],
        }
        | line
        for trial in trials
        for line in measured(trial, MEASURES)
    ]
    return Data(rows, protocol_of(trials, EXPERIMENT))


def _place(trial: Row) -> int:
    """0 for the first directions and 1 for the last."""
    spec = DataSpec.parse(trial["data"])
    return 0 if (spec.band if spec.band is not None else spec.indices[0]) == 0 else 1


def draw(data: Data) -> Figure:
    """A panel for each measure: both spheres, all networks."""
    names = present(data.rows, "network")
    figure = sheet(PAGE, 2.4)
    last = last_step(data.rows)
    for axes, measure in zip(figure.subplots(1, len(MEASURES)), MEASURES, strict=True):
        for shift, name, colour in zip((-0.05, 0.05), names, (BLUE, ORANGE), strict=False):
            own = profile(data.rows, network=name, measure=measure, step=last)
            if own is not None and own.seeds:
                slots = [place + shift for place in own.places]
                axes.plot(slots, own.table, ".", color=colour, alpha=0.3)
                error_bars(axes, slots, own.table.tolist(), color=colour, label=name)
        axes.set_xticks([0, 1], ["largest", "smallest"])
        axes.set_xlim(-0.5, 1.5)
        logarithmic(axes)
        axes.set_title(WORDS[measure])
        axes.set_xlabel("eigenvalue")
    legend_below(figure, figure.axes[0])
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """For each network and measure: the first directions are modelled worse."""
    last = last_step(rows)
    findings = []
    for network in present(rows, "network"):
        for measure in MEASURES:
            own = profile(rows, network=network, measure=measure, step=last)
            gaps = [] if own is None or len(own.table) < 2 else list(own.table[0] - own.table[1])
            finding = Finding.of_mean(
                f"{network}: {WORDS[measure]} is larger for a sphere in the first directions",
                f"first minus last directions, paired over {len(gaps)} seeds",
                [float(gap) for gap in gaps],
            )
            findings.append(if_enough(finding, len(gaps)))
    return tuple(findings)


FIGURE_1R = Experiment(
    "spheres in the first and the last directions, by risk",
    ANY_SCALE,
    data,
    draw,
    verdict,
    powerless=(),
    trials=False,
)
