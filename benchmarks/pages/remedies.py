"""What the doctor's advice and rotations of the data were worth, from paired trainings."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from statistics import fmean
from typing import Any

from sads.alignment.measured_rotations import MeasuredRotation
from sads.doctor.worth import Worth
from sads.figures.stored_experiments import finished, present
from sads.statistics.means import mean_interval, paired_differences
from sads.statistics.shapes import LEAST_SEEDS

from .markdown import ROWS, Lines, measured, number, spread, table

PAPER, TIMED = "iddpm-16", "iddpm-16,groups=8"
AS_IT_IS = "identity"
Key = tuple[Any, ...]
BySeed = Mapping[int, float]

#: Finding of the doctor and its remedy, then network and rotation before and after.
REMEDIES = (
    ("time-blind", "groups=8", (PAPER, AS_IT_IS), (TIMED, AS_IT_IS)),
    (
        "time-blind",
        "embedding=scale-shift",
        (PAPER, AS_IT_IS),
        ("iddpm-16,embedding=scale-shift", AS_IT_IS),
    ),
    ("low-frequency-heavy", "W_min", (PAPER, AS_IT_IS), (PAPER, "min")),
    ("low-frequency-heavy", "a random rotation", (PAPER, AS_IT_IS), (PAPER, "random")),
    ("low-frequency-heavy", "W_min", (TIMED, AS_IT_IS), (TIMED, "min")),
    ("low-frequency-heavy", "a random rotation", (TIMED, AS_IT_IS), (TIMED, "random")),
    ("asymmetric", "resampling=area", (TIMED, AS_IT_IS), (f"{TIMED},resampling=area", AS_IT_IS)),
    (
        "zero-output",
        "no layer at zero",
        (f"{TIMED},zero_init=true", AS_IT_IS),
        (TIMED, AS_IT_IS),
    ),
)


def by_seed(
    rows: Sequence[Mapping[str, Any]], value: str, *fields: str
) -> dict[Key, dict[int, float]]:
    """The values of rows by some of their fields, then by seed."""
    values: dict[Key, dict[int, float]] = {}
    for row in rows:
        key = tuple(row[field] for field in fields)
        values.setdefault(key, {})[int(row["seed"])] = float(row[value])
    return values


def tried() -> list[Worth]:
    """Every remedy on every dataset on which it was tried."""
    if not (ROWS / "claims-advice.csv").is_file():
        return []
    rows = finished(ROWS, "advice")
    values = by_seed(rows, "sw2", "network", "rotation", "data")
    result = []
    for (finding, remedy, *pair), data in product(REMEDIES, present(rows, "data")):
        before, after = (values.get((*kind, data), {}) for kind in pair)
        gaps = paired_differences(before, after)
        difference, interval = mean_interval(gaps)
        if difference is None:
            continue
        common = sorted(before.keys() & after.keys())
        result.append(
            Worth(
                finding=finding,
                network=pair[0][0],
                remedy=remedy,
                data=re.split("[:,]", data)[0],
                before=sum(before[seed] for seed in common) / len(common),
                after=sum(after[seed] for seed in common) / len(common),
                difference=difference,
                interval=interval,
                seeds=len(gaps),
            )
        )
    return result


def advice() -> Lines:
    """What the doctor's advice did to SW2, before minus after."""
    lines = [
        (
            f"`{row.finding}`",
            f"`{row.network}`",
            row.remedy,
            row.data,
            number(row.before),
            number(row.after),
            measured(row.difference, row.interval),
            row.seeds,
            row.verdict,
        )
        for row in tried()
    ]
    header = ("finding", "network", "remedy", "data", "SW2 before", "SW2 after")
    return table((*header, "difference, 95 %", "seeds", ""), lines)


def worth_of_advice() -> str:
    """The same as the package keeps it."""
    rows = [asdict(row) for row in tried()]
    lines = ",\n".join("  " + json.dumps(_rounded(row)) for row in rows)
    return f"[\n{lines}\n]\n" if rows else "[]\n"


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with four significant digits."""

    def short(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.4g}")
        return [short(part) for part in value] if isinstance(value, tuple) else value

    return {key: short(value) for key, value in row.items()}


#: The datasets of `rotations.csv` as commands name them, and the experiments with other ones.
IMAGES = {"digits": "8x8 digits", "mnist": "16x16 MNIST"}
NAMES = {"digits": "16x16 digits", "mnist": "16x16 MNIST", "npy": "16x16 CIFAR-10 in grey"}
REGISTERED = ("advice", "rotations")
#: What commands speak of: the whole rotations, and W_min of the leading direction alone.
SPOKEN = ((AS_IT_IS, None), ("min", None), ("random", None), ("whiten", None), ("min", 1))


def rotations_measured() -> list[MeasuredRotation]:
    """The trainings under rotations of the data, seeds together, for all that has enough seeds."""
    groups: dict[Key, dict[int, float]] = {}
    for key, seed, sw2 in _trained():
        # A training that is part of two experiments is the same training.
        groups.setdefault(key, {}).setdefault(seed, sw2)
    groups = {key: sw2 for key, sw2 in groups.items() if len(sw2) >= LEAST_SEEDS}
    turned = {(*run, steps) for *run, rotation, _, steps in groups if rotation != AS_IT_IS}
    return [
        MeasuredRotation(network, data, rotation, rank, steps, tuple(sw2[s] for s in sorted(sw2)))
        for (network, data, rotation, rank, steps), sw2 in groups.items()
        if (rotation, rank) in SPOKEN and (network, data, steps) in turned
    ]


def _trained() -> Iterator[tuple[Key, int, float]]:
    """Network, data, rotation, rank and steps of each training, with its seed and SW2."""
    with open(ROWS / "rotations.csv", newline="") as file:
        for row in csv.DictReader(file):
            rank = int(row["rank"]) if row["rank"] else None
            key = (PAPER, IMAGES[row["data"]], row["rotation"], rank, int(row["steps"]))
            yield key, int(row["seed"]), float(row["sw2"])
    for name in REGISTERED:
        if not (ROWS / f"claims-{name}.csv").is_file():
            continue
        for row in finished(ROWS, name):
            data = NAMES[re.split("[:,]", row["data"])[0]]
            key = (row["network"], data, row["rotation"], row["rank"] or None)
            yield (*key, row["protocol_iterations"]), row["seed"], row["sw2"]


def measured_rotations() -> str:
    """The same as the package keeps it."""
    lines = ",\n".join(f"  {json.dumps(_rounded(asdict(row)))}" for row in rotations_measured())
    return f"[\n{lines}\n]\n"


def rotations() -> Lines:
    """Held-out SW2 of the paper's U-Net on rotated data."""
    with open(ROWS / "rotations.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = dict.fromkeys((row["rotation"], row["rank"]) for row in rows)
    runs = sorted({(row["data"], int(row["steps"])) for row in rows})
    values = by_seed(rows, "sw2", "rotation", "rank", "data", "steps")
    relative = by_seed(rows, "relative", "rotation", "rank", "data")
    lines = []
    for rotation, rank in kinds:
        alphas = (relative.get((rotation, rank, data), {}) for data in dict(runs))
        cells = [", ".join(number(fmean(a.values())) if a else "" for a in alphas)]
        for data, steps in runs:
            own, plain = (
                values.get((*kind, data, str(steps)), {})
                for kind in ((rotation, rank), (AS_IT_IS, ""))
            )
            cells.append(against(own, plain, told=rotation != AS_IT_IS))
        lines.append((rotation + (f", rank {rank}" if rank else ""), *cells))
    header = (f"{data}, {steps} steps" for data, steps in runs)
    return table(("rotation", f"alpha: {', '.join(dict(runs))}", *header), lines)


def against(own: BySeed, plain: BySeed, *, told: bool) -> str:
    """Mean and error; behind it the paired difference to the data as they are."""
    if not own:
        return ""
    if not told:
        return spread(list(own.values()))
    value, interval = mean_interval(paired_differences(own, plain))
    return f"{spread(list(own.values()))}; {measured(value, interval)}"


def run_name(data: str, steps: int | str) -> str:
    """A dataset and a budget as tables name them.

    >>> run_name("mnist:data/mnist,size=16", 3000)
    'MNIST, 3,000 steps'
    """
    return f"{NAMES[re.split('[:,]', data)[0]].removeprefix('16x16 ')}, {int(steps):,} steps"


def rotations_revisited() -> Lines:
    """Three networks, two datasets and two budgets: SW2 of every treatment of the images."""
    rows = finished(ROWS, "rotations")
    values = by_seed(rows, "sw2", "network", "rotation", "data", "protocol_iterations")
    runs = sorted({(row["data"], row["protocol_iterations"]) for row in rows})
    lines = []
    for network, rotation in sorted({(row["network"], row["rotation"]) for row in rows}):
        cells = [
            against(
                values.get((network, rotation, *run), {}),
                values.get((network, AS_IT_IS, *run), {}),
                told=rotation != AS_IT_IS,
            )
            for run in runs
        ]
        lines.append((f"`{network}`", rotation, *cells))
    done = f"{len(rows)} of 240 registered trainings are done."
    header = (run_name(data, steps) for data, steps in runs)
    return [done, "", *table(("network", "images", *header), lines), "", *_questions(values, runs)]


def _questions(values: Mapping[Key, BySeed], runs: Sequence[tuple[str, int]]) -> Lines:
    """The two questions that were registered."""
    asked = (
        ("the paper's U-Net: random minus W_min", (PAPER, "random"), (PAPER, "min")),
        ("groups=8: random minus as they are", (TIMED, "random"), (TIMED, AS_IT_IS)),
    )
    lines = []
    for (what, one, other), run in product(asked, runs):
        gaps = paired_differences(values.get((*one, *run), {}), values.get((*other, *run), {}))
        value, interval = mean_interval(gaps)
        word = "open" if len(gaps) < LEAST_SEEDS or interval is None else _sign(*interval)
        lines.append((what, run_name(*run), measured(value, interval), len(gaps), word))
    return table(("SW2", "run", "difference, 95 %", "seeds", ""), lines)


def _sign(low: float, high: float) -> str:
    return "worse" if low > 0 else "better" if high < 0 else "open"
