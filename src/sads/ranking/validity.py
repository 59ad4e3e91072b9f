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


def validity_sentences() -> list[str]:
    """One line for each dataset, and what follows from them."""
    said = []
    for dataset in dict.fromkeys(v.dataset for v in VALIDITY):
        found = [v for v in VALIDITY if v.dataset == dataset]
        rows = ", ".join(f"{v.score} {v.spearman:+.2f} (p = {v.p_value:.2g})" for v in found)
        said.append(
            f"Measured validity, {found[0].architectures} small networks trained on {dataset}, "
            f"Spearman's correlation with the outcome, positive is right: {rows}."
        )
    return [*said, _verdict()]


def _verdict() -> str:
    own = [v for v in VALIDITY if v.score == "alignment"]
    right = [v.dataset for v in own if v.spearman > 0 and v.p_value < SIGNIFICANT]
    if len(right) == len(own):
        return "There the score told which architectures do better."
    if right:
        return f"There the score told which architectures do better on {', '.join(right)} only."
    reverse = [v.dataset for v in own if v.spearman < 0 and v.p_value < SIGNIFICANT]
    how = f"; on {', '.join(reverse)} its order was the reverse" if reverse else ""
    return (
        f"There the score did not tell which architectures do better{how}: read it as how the data "
        "lies in each geometry, not as advice which to train."
    )
