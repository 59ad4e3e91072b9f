"""Rebuild what is generated in the pages of results: tables, badges, drawings.

    python benchmarks/results.py [--check] [--figures]

A block between `<!-- generated: NAME -->` and `<!-- end -->` in `docs/results.md` and the pages of
`docs/results` is made from the rows and verdicts in `docs/results`, by the function of that name
below. `--check` writes nothing and says which pages are stale, with exit code 1. `--figures` draws
the figures that read rows again.

*Badges.* A claim **holds** if its whole 95 % interval is on its side, is **reversed** if the
interval is on the other side of zero, **fails** if it misses a bar without being reversed, and is
**open** otherwise, or if it rests on fewer than five seeds.
"""

import argparse
import csv
import json
import math
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from sads.errors import InputError
from sads.figures import FIGURES, READINGS, make_figure
from sads.figures.catalogue import experiment, file_name
from sads.figures.data import Data, Request
from sads.figures.figure_6r_risk import profiles, shapes
from sads.figures.figure_e_mechanism import effects, ratios
from sads.figures.stored_experiments import RISKS, WORDS, finished, order_over, present, profile
from sads.statistics.means import mean_and_error, mean_interval, paired_differences
from sads.statistics.shapes import LEAST_SEEDS, Contrast

DOCS = Path(__file__).resolve().parents[1] / "docs"
ROWS, IMAGES = DOCS / "results", DOCS / "images"
BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
TRAINED = {"1", "2", "6", "7", "8", "10", "A", "B", "C", "D"}  # figures whose unit is a seed
Lines = list[str]
PAPER, TIMED = "iddpm-16", "iddpm-16,groups=8"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Lines:
    """A table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits."""
    return "" if value is None else f"{value:.{digits}g}"


def measured(value: float | None, interval: Sequence[float] | None) -> str:
    """A value with its 95 % interval."""
    known = "" if interval is None else f" ({number(interval[0])} to {number(interval[1])})"
    return number(value) + known


def badge(holds: bool | None, interval: Sequence[float] | None, value: float | None) -> str:
    """The word for a finding."""
    if holds is None:
        return "open"
    if holds:
        return "**holds**"
    other_side = interval[1] < 0 if interval is not None else (value or 0.0) < 0
    return "**reversed**" if other_side else "**fails**"


def spread(values: Sequence[float]) -> str:
    """Mean and standard error."""
    mean, error = mean_and_error(values)
    return number(mean) if error is None else f"{number(mean)} ± {number(error, 2)}"


def missing(name: str) -> Lines:
    """What stands where an experiment has no rows yet."""
    return [f"*No rows yet*: `sads sweep benchmarks/claims/{name}.toml` makes them. Badge: open."]


def claims_of_the_paper() -> Lines:
    """Every finding of the figures that make their own rows."""
    rows = []
    for key in FIGURES:
        content = json.loads((ROWS / f"{file_name(key)}.json").read_text())
        seeds = _seeds(key, content)
        for found in content["findings"]:
            word = badge(found["holds"], found["interval"], found["value"])
            few = seeds is not None and seeds < LEAST_SEEDS
            reason = f" ({seeds} seeds)" if few else ""
            if few:
                word = "open"
            value = measured(found["value"], found["interval"])
            rows.append((key, found["claim"], f"{found['statistic']}: {value}", word + reason))
    return table(("figure", "claim", "measured, 95 %", ""), rows)


def _seeds(key: str, content: Mapping[str, Any]) -> int | None:
    """Seeds behind a figure of trainings; None where the unit is another."""
    if key not in TRAINED:
        return None
    named = content["protocol"].get("seeds")
    if isinstance(named, int):
        return named
    if isinstance(named, list):
        return len(named)
    with open(ROWS / f"{file_name(key)}.csv", newline="") as file:
        return len({row["seed"] for row in csv.DictReader(file)})


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
        words = Counter(_order(row) for row in own)
        known = [row["value"] for row in own if row["value"] is not None]
        span = f"{min(known):.2f} to {max(known):.2f}" if known else ""
        lines.append((*kind, len(own), span, *(words[w] for w in ("holds", "reversed", "open"))))
    header = ("data", "measure", "architectures", "Spearman", "holds", "reversed", "open")
    return table(header, lines)


def _order(row: Mapping[str, Any]) -> str:
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
            _order(row),
        )
        for row in orders
    ]
    return table(("network", "data", "measure", "directions x seeds", "Spearman", ""), lines)


#: Finding of the doctor, then network and rotation before and after its remedy.
REMEDIES = (
    ("time-blind", (PAPER, "identity"), (TIMED, "identity")),
    ("time-blind", (PAPER, "identity"), ("iddpm-16,embedding=scale-shift", "identity")),
    ("low-frequency-heavy", (PAPER, "identity"), (PAPER, "min")),
    ("(comparison)", (PAPER, "identity"), (PAPER, "random")),
    ("low-frequency-heavy", (TIMED, "identity"), (TIMED, "min")),
    ("(comparison)", (TIMED, "identity"), (TIMED, "random")),
    ("asymmetric", (TIMED, "identity"), (f"{TIMED},resampling=area", "identity")),
    ("zero-output", (f"{TIMED},zero_init=true", "identity"), (TIMED, "identity")),
)


def advice() -> Lines:
    """What the doctor's advice did to SW2, before minus after."""
    rows = finished(ROWS, "advice")
    values: dict[tuple[str, str, str], dict[int, float]] = {}
    for row in rows:
        key = row["network"], row["rotation"], row["data"]
        values.setdefault(key, {})[row["seed"]] = row["sw2"]
    lines = []
    for (finding, *pair), data in product(REMEDIES, present(rows, "data")):
        before, after = (values.get((*kind, data), {}) for kind in pair)
        gaps = paired_differences(before, after)
        if not gaps:
            continue
        value, interval = mean_interval(gaps)
        told = [f"`{net}`" + ("" if turn == "identity" else f" {turn}") for net, turn in pair]
        shown = [spread(list(own.values())) for own in (before, after)]
        name = re.split("[:,]", data)[0]
        gap = measured(value, interval)
        lines.append((finding, *told, name, *shown, gap, len(gaps), _worth(len(gaps), interval)))
    header = ("finding", "before", "after", "data", "SW2 before", "SW2 after", "difference")
    return table((*header, "seeds", ""), lines)


def _worth(seeds: int, interval: Sequence[float] | None) -> str:
    """Whether a remedy helped."""
    if interval is None or seeds < LEAST_SEEDS or interval[0] <= 0 <= interval[1]:
        return "open"
    return "worth it" if interval[0] > 0 else "harmful"


def rotations() -> Lines:
    """Held-out SW2 of the paper's U-Net on rotated data."""
    with open(ROWS / "rotations.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = dict.fromkeys((row["rotation"], row["rank"]) for row in rows)
    runs = sorted({(row["data"], int(row["steps"])) for row in rows})
    lines = []
    for rotation, rank in kinds:
        cells = []
        for data, steps in runs:
            own, plain = (
                {
                    int(row["seed"]): float(row["sw2"])
                    for row in rows
                    if (row["data"], int(row["steps"])) == (data, steps)
                    and (row["rotation"], row["rank"]) == kind
                }
                for kind in ((rotation, rank), ("identity", ""))
            )
            if not own:
                cells.append("")
                continue
            gap = paired_differences(own, plain)
            value, interval = mean_interval(gap)
            told = "" if rotation == "identity" else f"; {measured(value, interval)}"
            cells.append(spread(list(own.values())) + told)
        lines.append((rotation + (f", rank {rank}" if rank else ""), *cells))
    return table(("rotation", *(f"{data}, {steps} steps" for data, steps in runs)), lines)


def ranking() -> Lines:
    """SW2 of twelve architectures with the alignment score."""
    with open(ROWS / "ranking-scores.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    by = {(row["dataset"], row["network"]): row for row in rows}
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    names = sorted(
        dict.fromkeys(row["network"] for row in rows),
        key=lambda name: float(by[datasets[0], name]["sw2"]),
    )
    lines = []
    for name in names:
        cells = []
        for data in datasets:
            own = by[data, name]
            cells += [
                f"{number(float(own['sw2']))} ± {number(float(own['sw2_error']), 2)}",
                number(float(own["alignment"])),
            ]
        lines.append((f"`{name}`", *cells, f"{int(by[datasets[0], name]['parameters']):,}"))
    header = [cell for data in datasets for cell in (f"SW2, {data}", "score")]
    return table(("network", *header, "parameters"), lines)


def ladder() -> Lines:
    """What makes a geometry cheap."""
    content = json.loads((ROWS / "geometry-benchmark.json").read_text())["ladder"]
    lines = [
        (
            row["step"],
            f"{row['v']:,.3g}",
            number(row["rate"]),
            f"{row['seconds']:,.0f}",
            f"{row['times']:,.0f}",
        )
        for row in content["rows"]
    ]
    header = ("step", "variance of one network", "networks/s", "seconds", "times faster")
    return table(header, lines)


def badge_order() -> Lines:
    """The conjecture's order: all directions at once, and one at a time."""
    orders = [row for row in reading("G").rows if row["quantity"] == "order"]
    together, alone = Counter[str](), Counter[str]()
    for row in orders:
        if row["data"] != "rank-one":
            together[_order(row)] += 1
        elif row["measure"] == WORDS["risk"]:
            alone[_order(row)] += 1
    seeds = [row["seeds"] for row in orders if row["data"] == "rank-one"]
    known = f"; the fewest whole seeds of an architecture: {min(seeds)} of 5" if seeds else ""
    return [
        f"Badge, all directions at once: **{_overall(together)}** ({_counts(together)} of "
        f"{together.total()} pairs of architecture and data). One direction at a time, risk: "
        f"**{_overall(alone)}** ({_counts(alone)} of {alone.total()} architectures{known})."
    ]


def _overall(words: Counter[str]) -> str:
    """One word for many: what all that are decided agree on."""
    decided = [word for word in ("holds", "reversed") if words[word]]
    return decided[0] if len(decided) == 1 else "both" if decided else "open"


def _counts(words: Counter[str]) -> str:
    return ", ".join(f"{words[word]} {word}" for word in ("holds", "reversed", "open"))


def badge_first() -> Lines:
    """The mechanism: each finding in a word."""
    found = experiment("E").verdict(reading("E").rows)
    words = [f"{one.claim}: {badge(one.holds, one.interval, one.value)}" for one in found]
    seeds = len({row["seed"] for row in reading("E").rows})
    done = f"{reading('E').protocol['trials']} of 120 registered trainings"
    return [f"Badges ({done}, seeds begun {seeds} of 5): " + "; ".join(words) + "."]


def badge_rotations() -> Lines:
    """W_min against the data as they are, and a random rotation against W_min."""
    with open(ROWS / "rotations.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if not row["rank"]]
    words = {"W_min beats the data as they are": ("identity", "min")}
    words |= {"W_min beats a random rotation": ("random", "min")}
    lines = []
    for claim, (worse, better) in words.items():
        each = Counter[str]()
        for run in sorted({(row["data"], row["steps"]) for row in rows}):
            first, second = (
                {
                    int(row["seed"]): float(row["sw2"])
                    for row in rows
                    if (row["data"], row["steps"], row["rotation"]) == (*run, kind)
                }
                for kind in (worse, better)
            )
            gaps = paired_differences(first, second)
            _, interval = mean_interval(gaps)
            enough = len(gaps) >= LEAST_SEEDS and interval is not None
            low, high = interval if enough and interval is not None else (-1.0, 1.0)
            each["holds" if low > 0 else "reversed" if high < 0 else "open"] += 1
        lines.append(f"{claim}: **{_overall(each)}** ({_counts(each)} of {each.total()} runs)")
    return ["Badges, five seeds: " + "; ".join(lines) + ". With a network that sees time: open."]


def badge_architecture() -> Lines:
    """Scores rest on three seeds; forecasts of directions have verdicts of their own."""
    drift = experiment("F").verdict(reading("F").rows)[0]
    word = badge(drift.holds, drift.interval, drift.value)
    return [
        "Badges: a score of untrained networks tells the better architecture: open (3 seeds, "
        f"reversed in sign on both datasets); {drift.claim}: {word}."
    ]


def answers() -> Lines:
    """All badges in one place."""
    parts = ("order", "first", "rotations", "architecture")
    names = ("the order", "the first direction", "rotations", "architectures")
    return table(("about", "badges"), zip(names, (block(f"badge-{p}") for p in parts), strict=True))


TABLES: Mapping[str, tuple[str | None, Callable[[], Lines]]] = {
    "claims": (None, claims_of_the_paper),
    "answers": (None, answers),
    "badge-order": ("figure-06", badge_order),
    "badge-first": ("mechanism", badge_first),
    "badge-rotations": (None, badge_rotations),
    "badge-architecture": (None, badge_architecture),
    "figure-6R": ("figure-06", figure_6r),
    "figure-1R": ("figure-01", lambda: findings("1R")),
    "figure-2R": ("figure-02", lambda: findings("2R")),
    "figure-E": ("mechanism", figure_e),
    "figure-E-square": ("mechanism", figure_e_square),
    "figure-E-findings": ("mechanism", lambda: findings("E")),
    "figure-F": (None, lambda: findings("F")),
    "figure-G": ("figure-06", figure_g),
    "counterexamples": ("figure-06", counterexamples),
    "advice": ("advice", advice),
    "rotations": (None, rotations),
    "ranking": (None, ranking),
    "ladder": (None, ladder),
}


def block(name: str) -> str:
    """The content of a generated block."""
    needed, make = TABLES[name]
    if needed is not None and not (ROWS / f"claims-{needed}.csv").is_file():
        return "\n".join(missing(needed))
    return "\n".join(make())


def rebuilt(text: str) -> str:
    """A page with its blocks made again."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{block(found[2])}\n\n{found[3]}", text)


def pages() -> list[Path]:
    """All pages of results."""
    return [DOCS / "results.md", DOCS / "doctor.md", *sorted(ROWS.glob("*.md"))]


def stale() -> list[Path]:
    """The pages whose blocks are not what the rows say."""
    return [page for page in pages() if rebuilt(page.read_text()) != page.read_text()]


def draw_figures() -> None:
    """Draw the figures that read rows into the pictures of the documentation."""
    for key in READINGS:
        with tempfile.TemporaryDirectory() as place:
            try:
                make_figure(key, Request("laptop", Path(place), rows=ROWS))
            except InputError as error:
                print(f"figure {key} is left as it is: {error}", file=sys.stderr)
                continue
            shutil.copy(Path(place) / f"{file_name(key)}.png", IMAGES)


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description="rebuild the pages of results from their rows")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--figures", action="store_true")
    given = parser.parse_args()
    if given.figures:
        draw_figures()
    late = stale()
    for page in late:
        print(page.relative_to(DOCS.parent))
        if not given.check:
            page.write_text(rebuilt(page.read_text()))
    return 1 if given.check and late else 0


if __name__ == "__main__":
    raise SystemExit(main())
