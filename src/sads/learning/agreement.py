"""How far two halves of the same measurements agree on an order, and the ceiling that follows.

A profile over directions is the mean over n units (trainings, or networks of a forecast). The units
are split into two halves at random, many times; r is the mean over the splits of Spearman's
correlation between the profiles of the halves. The reliability of the whole is that of twice as
many units, by Spearman and Brown's formula

    reliability = 2 r / (1 + r).

Two profiles with reliabilities p and q that measure one order correlate at sqrt(p q), the ceiling.
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

from ..randomness import stream

SPLITS = 100

Profile = Callable[[Float[np.ndarray, "n ..."]], Float[np.ndarray, " k"]]


def spearman(a: Float[np.ndarray, " k"], b: Float[np.ndarray, " k"]) -> float:
    """Spearman's correlation, ties at their mean rank; NaN where one of them is constant.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 9.0]))
    1.0
    """
    ranks = np.stack([rankdata(a), rankdata(b)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    scale = math.sqrt(float(np.prod((ranks**2).sum(axis=1))))
    return float((ranks[0] * ranks[1]).sum() / scale) if scale > 0 else math.nan


def mean_profile(rows: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " k"]:
    """The mean over the units."""
    return rows.mean(axis=0)


def halves_agreement(
    rows: Float[np.ndarray, "n ..."], profile: Profile = mean_profile, *, splits: int = SPLITS
) -> float:
    """Mean Spearman correlation of the profiles of random halves; NaN with fewer than two units.

    Args:
        rows: the measurements, one unit after another.
        profile: what a number of units says of each direction.
        splits: random splits that are averaged.
    """
    if len(rows) < 2:
        return math.nan
    generator = stream(0, "halves of a reliability")
    half = len(rows) // 2
    agreements = []
    for _ in range(splits):
        order = generator.permutation(len(rows))
        first, second = order[:half], order[half : 2 * half]
        agreements.append(spearman(profile(rows[first]), profile(rows[second])))
    return float(np.mean(agreements))


def stepped_up(agreement: float) -> float:
    """The reliability of all units from the agreement of halves; zero where they disagree.

    >>> round(stepped_up(0.5), 3)
    0.667
    """
    if math.isnan(agreement):
        return math.nan
    return 2 * agreement / (1 + agreement) if agreement > 0 else 0.0
