"""How scores of untrained networks compare with the outcome of training, as a table."""

import csv
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from sads.randomness import stream
from sads.statistics.ranks import permuted, rank_correlation
from sads.statistics.resampling import p_value

from .markdown import ROWS, Lines, table

#: Column, in words, and 1 if low values are expected to do well, else -1.
SCORES = (
    ("alignment", "**alignment**, once that of `sads rank`", 1),
    ("root", "root: G^(1/2) for G", 1),
    ("square", "square: G² for G", 1),
    ("log", "log: mean log eigenvalue under the data", 1),
    ("top", "top: share on eigenvalues above twice the mean", 1),
    ("centred", "centred: covariance for C", 1),
    ("anisotropy", "anisotropy of G, blind to the data", 1),
    ("parameters", "parameters", -1),
    ("synflow", "SynFlow", -1),
    ("jacobian", "Jacobian covariance", -1),
)
#: One channel in every group of their norms, so they do not see the timestep.
TIME_BLIND = ("iddpm-16", "iddpm-16,resampling=area", "iddpm-16,channels=16,groups=16")
NAMES = {"digits": "digits", "mnist-8": "MNIST"}
PERMUTATIONS = 20_000


def scores() -> Lines:
    """Spearman's correlation of ten scores with SW2, with all networks and without the blind."""
    with open(ROWS / "ranking-scores.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    seeing = [row for row in rows if row["network"] not in TIME_BLIND]
    pools = [
        [row for row in chosen if row["dataset"] == data]
        for chosen in (rows, seeing)
        for data in NAMES
    ]
    header = [
        f"{name}, {len(pool)}{word}"
        for (word, name), pool in zip(
            [(word, name) for word in ("", " (post hoc)") for name in NAMES.values()],
            pools,
            strict=True,
        )
    ]
    lines = [
        (words, *(_against_outcome(pool, score, sign) for pool in pools))
        for score, words, sign in SCORES
    ]
    return table(("score", *header), lines)


def _against_outcome(pool: Sequence[Mapping[str, str]], score: str, sign: int) -> str:
    """Spearman's correlation, positive where the score is right, and its two-sided p-value."""
    values = sign * np.array([float(row[score]) for row in pool])
    sw2: Float[np.ndarray, " n"] = np.array([float(row["sw2"]) for row in pool])
    own = rank_correlation(values, sw2)
    chance = permuted(values, sw2, PERMUTATIONS, stream(0, "scores against outcomes"))[:, 0]
    p = p_value(abs(own), np.abs(chance), tie=1e-9)
    return f"{own:+.2f} ({p:.2g})"
