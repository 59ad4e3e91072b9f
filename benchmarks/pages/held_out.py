"""The held-out loss by direction of networks that were trained on rotated images."""

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from sads.statistics.means import mean_interval, paired_differences
from sads.statistics.shapes import LEAST_SEEDS

from .markdown import ROWS, Lines, measured, table
from .remedies import AS_IT_IS, NAMES, BySeed, against, run_name

FILE = ROWS / "claims-rotations-losses.csv"
#: Bands of frequency that are told together, by the numbers of the first and the last.
GROUPS = (("the mean", 0, 0), ("low", 1, 4), ("middle", 5, 10), ("high", 11, 15))
PRICED = {"random": "random", "min": "W_min"}
Interval = tuple[float, float]
Row = Mapping[str, str]
Kind = tuple[str, str, str, str]  # network, dataset, number of steps, rotation


def of_group(rows: Sequence[Row], first: int, last: int) -> dict[int, float]:
    """The loss of a training per direction of some bands, by seed; a row is the sum of its band."""
    losses: dict[int, tuple[float, int]] = {}
    for row in rows:
        if first <= int(row["band"]) <= last:
            total, width = losses.get(int(row["seed"]), (0.0, 0))
            losses[int(row["seed"])] = total + float(row["loss"]), width + int(row["width"])
    return {seed: total / width for seed, (total, width) in losses.items()}


def kinds_of_training() -> dict[Kind, list[Row]]:
    """The rows of each network, dataset, number of steps and rotation; none without a table."""
    kinds: dict[Kind, list[Row]] = {}
    bands = Counter[str]()
    if not FILE.is_file():
        return kinds
    with FILE.open(newline="") as file:
        for row in csv.DictReader(file):  # those of a training follow each other, mean first
            key = (row["network"], row["data"], row["iterations"], row["rotation"])
            kinds.setdefault(key, []).append({**row, "band": str(bands[row["id"]])})
            bands[row["id"]] += 1
    return kinds


def held_out_loss() -> Lines:
    """The loss along the mean and along low, middle and high frequencies, per direction."""
    kinds = kinds_of_training()
    if not kinds:
        return [
            "*No rows yet*: `python benchmarks/held_out_loss.py` makes them from kept networks."
        ]
    lines = []
    for (network, data, steps, rotation), rows in sorted(kinds.items()):
        plain = kinds.get((network, data, steps, AS_IT_IS), [])
        cells = [
            against(*_pair(rows, plain, first, last), told=rotation != AS_IT_IS)
            for _, first, last in GROUPS
        ]
        lines.append((f"`{network}`", run_name(data, steps), rotation, *cells))
    return table(("network", "run", "images", *(name for name, *_ in GROUPS)), lines)


def _pair(
    rows: Sequence[Row], plain: Sequence[Row], first: int, last: int
) -> tuple[BySeed, BySeed]:
    return of_group(rows, first, last), of_group(plain, first, last)


def ratios() -> list[tuple[Kind, list[tuple[float, Interval | None, int]]]]:
    """Of each rotation: the loss in times of that of the images as they are, for each group.

    The factor is the geometric mean over seeds, its interval Student's for the paired logarithms.
    """
    kinds, told = kinds_of_training(), []
    for kind, rows in sorted(kinds.items()):
        if kind[3] == AS_IT_IS:
            continue
        plain, cells = kinds.get((*kind[:3], AS_IT_IS), []), []
        for _, first, last in GROUPS:
            turned, straight = (
                {seed: math.log(loss) for seed, loss in one.items()}
                for one in _pair(rows, plain, first, last)
            )
            gaps = paired_differences(turned, straight)
            value, interval = mean_interval(gaps)
            if value is not None:
                bounds = (
                    None if interval is None else (math.exp(interval[0]), math.exp(interval[1]))
                )
                cells.append((math.exp(value), bounds, len(gaps)))
        told.append((kind, cells))
    return told


def price_of_rotations() -> Lines:
    """How many times the held-out loss is under W_min and under a random rotation."""
    lines = []
    for (network, data, steps, rotation), cells in sorted(ratios(), key=lambda one: one[0]):
        if rotation in PRICED:
            words = [measured(value, interval) for value, interval, _ in cells]
            lines.append((f"`{network}`", run_name(data, steps), PRICED[rotation], *words))
    return table(("network", "run", "rotation", *(name for name, *_ in GROUPS)), lines)


def losses_under_rotations() -> str:
    """The same for low, middle and high frequencies, as the package keeps it."""
    rows = [
        {
            "network": network,
            "data": NAMES[re.split("[:,]", data)[0]],
            "rotation": rotation,
            "steps": int(steps),
            "times": [float(f"{value:.3g}") for value, _, _ in cells[1:]],
        }
        for (network, data, steps, rotation), cells in ratios()
        if rotation in PRICED and all(seeds >= LEAST_SEEDS for *_, seeds in cells)
    ]
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return f"[\n{lines}\n]\n"
