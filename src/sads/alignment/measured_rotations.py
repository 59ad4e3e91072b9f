"""The measured effect of rotations of the data on trained networks.

The trainings are those of `benchmarks/rotations.py` and of the registered experiments with rotated
images. `make results` writes the results into `measured_rotations.json`: held-out SW2 of every
seed, by network, data and number of steps. `losses_under_rotations.json` has the held-out loss at
low, middle and high frequencies, in times of that of the images as they are.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ..statistics.means import mean_interval, paired_differences

TIME_BLIND, SEES_TIME = "iddpm-16", "iddpm-16,groups=8"  # the networks that were tried
FILE = Path(__file__).with_suffix(".json")  # written by `make results`
LOSSES = FILE.with_name("losses_under_rotations.json")  # so is this one


@dataclass(frozen=True)
class MeasuredRotation:
    """Held-out SW2 under one rotation.

    Attributes:
        network: the network that was trained.
        data: the dataset that was rotated.
        rotation: `identity`, `min`, `random` or `whiten`.
        rank: leading data directions that moved; None for all.
        steps: the number of steps of each training.
        sw2: one value for each seed.
    """

    network: str
    data: str
    rotation: str
    rank: int | None
    steps: int
    sw2: tuple[float, ...]


def measured_rotations() -> tuple[MeasuredRotation, ...]:
    """All measurements."""
    rows = json.loads(FILE.read_text())
    return tuple(MeasuredRotation(**row | {"sw2": tuple(row["sw2"])}) for row in rows)


def outcomes(network: str, one: str, other: str) -> Counter[str]:
    """In how many runs one rotation was better or worse than another, or neither ("open").

    A run is a dataset with a number of steps. One rotation is better where the 95 % interval of the
    difference of SW2, paired by seed, lies below zero.
    """
    rows = [row for row in measured_rotations() if row.network == network and row.rank is None]
    sw2 = {(row.data, row.steps, row.rotation): dict(enumerate(row.sw2)) for row in rows}
    counts = Counter[str]()
    for data, steps in dict.fromkeys((row.data, row.steps) for row in rows):
        pair = [sw2.get((data, steps, rotation), {}) for rotation in (one, other)]
        _, interval = mean_interval(paired_differences(*pair))
        if interval is not None:
            low, high = interval
            counts["better" if high < 0 else "worse" if low > 0 else "open"] += 1
    return counts


def loss_range(network: str, rotation: str) -> tuple[float, float] | None:
    """The least and the largest factor by which a rotation changed the held-out loss of details.

    Over datasets, budgets and low, middle and high frequencies; None if it was not measured.
    """
    rows = json.loads(LOSSES.read_text())
    times = [
        value
        for row in rows
        if (row["network"], row["rotation"]) == (network, rotation)
        for value in row["times"]
    ]
    return (min(times), max(times)) if times else None
