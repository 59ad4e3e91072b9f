"""How well each way of ranking predicted the results of training.

Measured by `benchmarks/ranking.py`, which writes it into `validity.json`: Spearman's correlation of
each order with that of held-out SW2 over a pool of architectures, positive where it is right, its
95 % interval over architectures and its two-sided permutation p-value. There are two pools; for
each dataset another row combines both.

A way of ranking has passed if its order was right on every dataset of every pool with a p-value
below 0.05.
"""

import json
from dataclasses import dataclass
from pathlib import Path

SIGNIFICANT = 0.05
ZERO_COST = ("parameters", "synflow", "jacobian")
FILE = Path(__file__).with_name("validity.json")  # written by the benchmark


@dataclass(frozen=True)
class Validity:
    """One measured correlation.

    Attributes:
        dataset: the dataset that the pool was trained on.
        score: a zero-cost score, or `pilot` with the error that ordered it.
        architectures: size of the pool.
        spearman: positive if the order is right.
        interval: its 95 % interval, by a bootstrap over architectures.
        p_value: two-sided, by permutation.
        pool: `first`, `second`, or `both` together.
    """

    dataset: str
    score: str
    architectures: int
    spearman: float
    interval: tuple[float, float]
    p_value: float
    pool: str = "first"

    @property
    def right(self) -> bool:
        """Whether the order was right beyond chance."""
        return self.spearman > 0 and self.p_value < SIGNIFICANT


def measured_validity() -> tuple[Validity, ...]:
    """All measured correlations."""
    rows = json.loads(FILE.read_text())
    return tuple(Validity(**row | {"interval": tuple(row["interval"])}) for row in rows)


def passed() -> str | None:
    """The zero-cost score that was right on every dataset, with the best worst case of several."""
    known = [row for row in measured_validity() if row.score in ZERO_COST]
    by_score = {score: [row for row in known if row.score == score] for score in ZERO_COST}
    right = [s for s, rows in by_score.items() if rows and all(row.right for row in rows)]
    return max(right, key=lambda s: min(row.spearman for row in by_score[s]), default=None)
