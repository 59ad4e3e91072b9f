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

from ..randomness import stream
from ..statistics.ranks import rank_correlation

SPLITS = 100

Profile = Callable[[Float[np.ndarray, "n ..."]], Float[np.ndarray, " k"]]


def mean_profile(rows: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " k"]:
    """The mean over all units."""
    return rows.mean(axis=0)


def halves_agreement(rows: Float[np.ndarray, "n ..."], profile: Profile = mean_profile) -> float:
    """Mean Spearman correlation of the profiles of random halves; NaN with fewer than two units.

    Args:
        rows: the measurements, one unit after another.
        profile: makes one value for each direction from a number of units.
    """
    if len(rows) < 2:
        return math.nan
    generator = stream(0, "halves of a reliability")
    half = len(rows) // 2
    agreements = []
    for _ in range(SPLITS):
        order = generator.permutation(len(rows))
        first, second = order[:half], order[half : 2 * half]
        agreements.append(rank_correlation(profile(rows[first]), profile(rows[second])))
    return float(np.mean(agreements))


def stepped_up(agreement: float) -> float:
    """The reliability of all units from the agreement of halves; zero where they disagree.

    >>> round(stepped_up(0.5), 3)
    0.667
    """
    if math.isnan(agreement):
        return math.nan
    return 2 * agreement / (1 + agreement) if agreement > 0 else 0.0
