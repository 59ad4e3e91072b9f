"""Tables of the experiments that are registered in `benchmarks/claims`."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sads.figures.catalogue import experiment
from sads.figures.data import Data, Request
from sads.figures.figure_6r_risk import profiles, shapes
from sads.figures.figure_e_mechanism import effects, ratios
from sads.figures.stored_experiments import RISKS, SAMPLED, WORDS, order_over, present, profile
from sads.statistics.means import mean_interval, paired_differences
from sads.statistics.shapes import LEAST_SEEDS, Contrast, Shape

from .markdown import ROWS, Lines, badge, measured, number, table

PAPER = "iddpm-16"


@cache
def reading(key: str) -> Data:
    """The data of a figure that reads rows."""
    return experiment(key).data(Request("registered", ROWS, rows=ROWS))


def contrast(own: Contrast) -> str:
    """An end against the middle, in per cent of the middle."""
    if own.interval is None:
        return f"{100 * own.value:+.0f} %"
    low, high = own.interval
    return f"{100 * own.value:+.0f} % ({100 * low:+.0f} to {100 * high:+.0f})"


def figure_6r() -> Lines:
    """Order and shape of every measure, by architecture."""
    rows = reading("6R").rows
    named = shapes(rows)
    lines = []
    for (network, measure), own in profiles(rows).items():
        shape = named.get((network, measure))
        value, interval = order_over(own.eigenvalues, own.table)
        seeds = own.seeds
        if shape is None:
            continue
        lines.append(
            (
                f"`{network}`",
                WORDS[measure],
                len(own.places),
                seeds,
                number(shape.middle),
                contrast(shape.first),
                contrast(shape.last),
                measured(value, interval) if measure in RISKS else "",
                shape.name if seeds >= LEAST_SEEDS else f"open ({seeds} seeds)",
            )
        )
    header = ("network", "measure", "directions", "seeds", "middle", "first", "last")
    done = f"{reading('6R').protocol['trials']} of 220 registered trainings are done."
    if not lines:
        return [done + " No seed has all its directions yet. Badge: open."]
    return [done, "", *table((*header, "Spearman with eigenvalue", "shape"), lines)]


def figure_6r_shapes() -> Lines:
    """The shape of every measure, a column for each architecture."""
    rows = reading("6R").rows
    named, networks = shapes(rows), present(rows, "network")
    lines = []
    for measure in (*RISKS, *SAMPLED):
        cells = [named.get((network, measure)) for network in networks]
        words = ["" if cell is None else _shape_word(cell) for cell in cells]
        lines.append((WORDS[measure], *words))
    return table(("measure", *(f"`{network}`" for network in networks)), lines)


def _shape_word(shape: Shape) -> str:
    """A shape with both ends against the middle, in times of it."""
    ends = ", ".join(f"{1 + end.value:.2g}" for end in (shape.first, shape.last))
    name = shape.name if shape.seeds >= LEAST_SEEDS else f"open, {shape.seeds} seeds"
    return f"{name} ({ends})"


def figure_2r() -> Lines:
    """What was asked of elements of five bases, and how far the trainings are."""
    done = f"{reading('2R').protocol['trials']:,} of 1,200 registered trainings are done."
    return [done, "", *findings("2R")]


def figure_e() -> Lines:
    """SW2 along three directions and the effect, by network."""
    rows = reading("E").rows
    last = max(row["step"] for row in rows)
    aniso, lines = ratios(rows), []
    doctor = json.loads((ROWS / "mechanism-doctor.json").read_text())
    for network in present(rows, "network"):
        cells = []
        for measure in ("sw2", "risk_along", "risk_off"):
            own = profile(rows, network=network, measure=measure, step=last)
            if own is None or len(own.places) != 3:
                cells.append("")
                continue
            cells.append(", ".join(number(float(v)) for v in own.table.mean(axis=1)))
        found = effects(rows, "sw2").get(network, {})
        value, interval = mean_interval(list(found.values()))
        codes = ", ".join(one["code"] for one in doctor[network])
        about = f"`{network}`", codes, number(aniso.get(network))
        lines.append((*about, *cells, len(found), measured(value, interval)))
    names = ("network", "the doctor finds", "first / middle eigenvalue")
    header = (*names, "SW2: first, middle, last", "risk along")
    return table((*header, "risk off", "seeds", "effect: log SW2 first / middle"), lines)


SQUARE = (
    ("the mean, without time", PAPER, "iddpm-16,norm_bypass=true,embedding=none"),
    ("the mean, with time", "iddpm-16,embedding=scale-shift", "iddpm-16,norm_bypass=true"),
    ("the time, without the mean", PAPER, "iddpm-16,embedding=scale-shift"),
    (
        "the time, with the mean",
        "iddpm-16,norm_bypass=true,embedding=none",
        "iddpm-16,norm_bypass=true",
    ),
)


def figure_e_square() -> Lines:
    """What granting each property does to the effect and to SW2 along each direction."""
    rows = reading("E").rows
    own, last, lines = effects(rows, "sw2"), max(row["step"] for row in rows), []
    for what, without, with_it in SQUARE:
        gaps = paired_differences(own.get(with_it, {}), own.get(without, {}))
        value, interval = mean_interval(gaps)
        cells = []
        for place in (0, 31):
            first, second = (
                {
                    row["seed"]: math.log(row["value"])
                    for row in rows
                    if (row["network"], row["measure"]) == (network, "sw2")
                    and (row["place"], row["step"]) == (place, last)
                }
                for network in (with_it, without)
            )
            mean, bounds = mean_interval(paired_differences(first, second))
            cells.append("" if mean is None else _times(mean, bounds))
        lines.append((what, f"`{with_it}` against `{without}`", *cells, measured(value, interval)))
    header = (
        "granted",
        "networks",
        "SW2 first, times",
        "SW2 middle, times",
        "change of the effect",
    )
    return table(header, lines)


def _times(mean: float, bounds: Sequence[float] | None) -> str:
    """A factor from its logarithm."""
    known = None if bounds is None else [math.exp(bound) for bound in bounds]
    return measured(math.exp(mean), known)


def findings(key: str) -> Lines:
    """The verdicts of a figure that reads rows."""
    lines = [
        (
            found.claim,
            f"{found.statistic}: {measured(found.value, found.interval)}",
            badge(found.holds, found.interval, found.value),
        )
        for found in experiment(key).verdict(reading(key).rows)
    ]
    return table(("claim", "measured, 95 %", ""), lines)


def figure_g() -> Lines:
    """How many architectures have the conjecture's order, by data and measure."""
    orders = [row for row in reading("G").rows if row["quantity"] == "order"]
    kinds = dict.fromkeys((row["data"], row["measure"]) for row in orders)
    lines = []
    for kind in kinds:
        own = [row for row in orders if (row["data"], row["measure"]) == kind]
        words = Counter(order_word(row) for row in own)
        known = [row["value"] for row in own if row["value"] is not None]
        span = f"{min(known):.2f} to {max(known):.2f}" if known else ""
        lines.append((*kind, len(own), span, *(words[w] for w in ("holds", "reversed", "open"))))
    header = ("data", "measure", "architectures", "Spearman", "holds", "reversed", "open")
    return table(header, lines)


def order_word(row: Mapping[str, Any]) -> str:
    """Whether an architecture has the order of the conjecture."""
    if row["low"] is None or row["seeds"] < LEAST_SEEDS or row["low"] <= 0 <= row["high"]:
        return "open"
    return "holds" if row["low"] > 0 else "reversed"


def counterexamples() -> Lines:
    """Every architecture with its orders."""
    orders = [row for row in reading("G").rows if row["quantity"] == "order"]
    lines = [
        (
            f"`{row['network']}`",
            row["data"],
            row["measure"],
            f"{row['directions']} x {row['seeds']}",
            measured(row["value"], None if row["low"] is None else (row["low"], row["high"])),
            order_word(row),
        )
        for row in orders
    ]
    return table(("network", "data", "measure", "directions x seeds", "Spearman", ""), lines)
