"""The measured effect of rotations of the data on trained networks.

Measured by `benchmarks/rotations.py`, which writes it into `measured_rotations.json`: held-out SW2
of `iddpm-16` for every seed, at a short and at a longer training.
"""

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class MeasuredRotation:
    """Held-out SW2 under one rotation.

    Attributes:
        data: the dataset that was rotated.
        rotation: `identity`, `min` or `random`.
        rank: leading data directions that moved; None for all.
        steps: the number of steps of each training.
        sw2: one value for each seed.
    """

    data: str
    rotation: str
    rank: int | None
    steps: int
    sw2: tuple[float, ...]


def measured_rotations() -> tuple[MeasuredRotation, ...]:
    """All measurements."""
    rows = json.loads(FILE.read_text())
    return tuple(MeasuredRotation(**row | {"sw2": tuple(row["sw2"])}) for row in rows)
