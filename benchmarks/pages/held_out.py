"""The held-out loss by direction of networks that were trained on rotated images."""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence

from .markdown import ROWS, Lines, table
from .remedies import AS_IT_IS, BySeed, against, run_name

FILE = ROWS / "claims-rotations-losses.csv"
#: Bands of frequency that are told together, by the numbers of the first and the last.
GROUPS = (("the mean", 0, 0), ("low", 1, 4), ("middle", 5, 10), ("high", 11, 15))
Row = Mapping[str, str]


def of_group(rows: Sequence[Row], first: int, last: int) -> dict[int, float]:
    """The loss of a training per direction of some bands, by seed; a row is the sum of its band."""
    losses: dict[int, tuple[float, int]] = {}
    for row in rows:
        if first <= int(row["band"]) <= last:
            total, width = losses.get(int(row["seed"]), (0.0, 0))
            losses[int(row["seed"])] = total + float(row["loss"]), width + int(row["width"])
    return {seed: total / width for seed, (total, width) in losses.items()}


def held_out_loss() -> Lines:
    """The loss along the mean and along low, middle and high frequencies, per direction."""
    if not FILE.is_file():
        return [
            "*No rows yet*: `python benchmarks/held_out_loss.py` makes them from kept networks."
        ]
    kinds: dict[tuple[str, ...], list[Row]] = {}
    bands = Counter[str]()
    with FILE.open(newline="") as file:
        for row in csv.DictReader(file):  # those of a training follow each other, mean first
            key = (row["network"], row["data"], row["iterations"], row["rotation"])
            kinds.setdefault(key, []).append({**row, "band": str(bands[row["id"]])})
            bands[row["id"]] += 1
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
