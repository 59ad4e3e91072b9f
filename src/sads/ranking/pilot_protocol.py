"""How a pilot is run."""

from dataclasses import dataclass
from typing import get_args

from ..errors import InputError
from ..foundation.choices import Criterion

CRITERIA: tuple[Criterion, ...] = get_args(Criterion)


@dataclass(frozen=True)
class PilotProtocol:
    """How a pilot is run.

    Attributes:
        steps: the most training steps of a candidate.
        seeds: trainings of each candidate.
        level: probability at which an order is certain.
        by: the error that orders candidates: along the `constant` images or in `total`.
        batch_size: samples a batch.
        learning_rate: the learning rate of Adam.
        points: the noisy samples in each stratum of timesteps at which errors are measured.
        seed: the first of the seeds.

    >>> import sads
    >>> sads.PilotProtocol(steps=80).by
    'constant'
    """

    steps: int = 40
    seeds: int = 4
    level: float = 0.95
    by: Criterion = "constant"
    batch_size: int = 64
    learning_rate: float = 1e-3
    points: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.points < 1:
            raise InputError("a pilot needs at least one step and one point")
        if self.seeds < 2:
            raise InputError(
                f"a pilot needs at least 2 seeds to say how sure it is, got {self.seeds}"
            )
        if not 0.5 < self.level < 1:
            raise InputError(f"the level is a probability between 0.5 and 1, got {self.level}")
        if self.by not in CRITERIA:
            raise InputError(f"candidates are ordered by {' or '.join(CRITERIA)}, got {self.by!r}")
