"""How well the scores of a ranking told what training then gave.

Measured by `benchmarks/ranking.py`, which writes it into `validity.json`:
Spearman's correlation of each score with held-out SW2 over a pool of architectures, signed so that
positive means that the score is right, and its two-sided permutation p-value.
"""

import json
from dataclasses import dataclass
from pathlib import Path

SIGNIFICANT = 0.05
FILE = Path(__file__).with_name("validity.json")  # written by the benchmark


@dataclass(frozen=True)
class Validity:
    """One measured correlation.

    Attributes:
        dataset: what the pool was trained on.
        score: `alignment` is that of the ranking, the others are its baselines.
        architectures: size of the pool.
        spearman: positive if the score is right.
        p_value: two-sided, by permutation.
    """

    dataset: str
    score: str
    architectures: int
    spearman: float
    p_value: float


VALIDITY = tuple(Validity(**row) for row in json.loads(FILE.read_text()))
