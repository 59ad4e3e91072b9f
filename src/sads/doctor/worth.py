"""How much the doctor's advice helped where it was tried.

The experiment is `benchmarks/claims/advice.toml`: the same training before and after a remedy, on
two datasets, with five seeds, judged by the sliced Wasserstein distance SW2 of samples to held-out
images. `make results` writes the results into `worth.json`. Differences are before minus after,
paired by seed, with Student's 95 % interval.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from ..statistics.shapes import LEAST_SEEDS

FILE = Path(__file__).with_name("worth.json")  # written by `make results`


@dataclass(frozen=True)
class Worth:
    """One remedy on one dataset.

    Attributes:
        finding: the code of the finding that it answers.
        network: the network without the remedy.
        remedy: the change.
        data: the dataset.
        before: mean SW2 over seeds without the remedy.
        after: mean SW2 over seeds with it.
        difference: mean of before minus after, paired by seed.
        interval: its 95 % interval; None for a single seed.
        seeds: the number of pairs of trainings.
    """

    finding: str
    network: str
    remedy: str
    data: str
    before: float
    after: float
    difference: float
    interval: tuple[float, float] | None
    seeds: int

    @property
    def verdict(self) -> Literal["worth it", "harmful", "open"]:
        """Whether the remedy helped beyond chance; open with fewer than five seeds."""
        if self.interval is None or self.seeds < LEAST_SEEDS:
            return "open"
        low, high = self.interval
        if low <= 0 <= high:
            return "open"
        return "worth it" if low > 0 else "harmful"


@cache
def measured_worth() -> tuple[Worth, ...]:
    """All remedies that were tried."""
    rows = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(Worth(**row | {"interval": _pair(row["interval"])}) for row in rows)


def _pair(interval: list[float] | None) -> tuple[float, float] | None:
    return None if interval is None else (interval[0], interval[1])


def worth_of(code: str) -> tuple[Worth, ...]:
    """The remedies that were tried for a finding."""
    return tuple(row for row in measured_worth() if row.finding == code)
