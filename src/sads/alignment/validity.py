"""How well the scores of a ranking told what training then gave, measured by
`benchmarks/ranking.py`.

Spearman's correlation of each score with held-out SW2 over a pool of architectures, signed so that
positive means that the score is right, and its two-sided permutation p-value.
"""

from dataclasses import dataclass


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


VALIDITY: tuple[Validity, ...] = ()


def validity_sentences() -> list[str]:
    """One line for each dataset."""
    said = []
    for dataset in dict.fromkeys(v.dataset for v in VALIDITY):
        found = [v for v in VALIDITY if v.dataset == dataset]
        rows = ", ".join(f"{v.score} {v.spearman:+.2f} (p = {v.p_value:.2g})" for v in found)
        said.append(
            f"Measured validity, {found[0].architectures} trained architectures on {dataset}, "
            f"Spearman with the outcome, positive is right: {rows}."
        )
    return said
