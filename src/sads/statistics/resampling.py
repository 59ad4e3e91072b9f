"""p-values of permutation tests, intervals of the bootstrap and of the jackknife.

A permutation test with B random orders, of which b reach the observed statistic, has the p-value
(1 + b) / (1 + B), since the observed order is one of the possible ones (Phipson and Smyth).

A percentile interval of the bootstrap is the middle 95 % of the statistic over units drawn with
replacement.

The jackknife leaves out each of n units in turn. The interval is Student's, of the pseudo-values
n m - (n - 1) m_(-i), where m_(-i) is the mean without unit i.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float

from ..randomness import stream
from .means import CONFIDENCE, Interval, mean_interval


def p_value(value: float, by_chance: Float[np.ndarray, " B"], *, tie: float = 0.0) -> float:
    """The share of random orders whose statistic reaches the value; 1 if the value is NaN.

    Args:
        value: the observed statistic; the test looks for large ones.
        by_chance: the statistic under random orders.
        tie: a statistic at most this far below the value counts as equal, to allow for rounding.

    >>> p_value(2.0, np.array([0.0, 2.0, 1.0]))
    0.5
    """
    if math.isnan(value):
        return 1.0
    reached = int((by_chance >= value - tie).sum())
    return (1 + reached) / (1 + len(by_chance))


def percentiles(draws: Float[np.ndarray, " n"]) -> Interval:
    """The 95 % interval of the draws of a bootstrap; NaN is left out."""
    known = draws[~np.isnan(draws)]
    if not len(known):
        return math.nan, math.nan
    low, high = np.quantile(known, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def bootstrap_interval(
    count: int,
    statistic: Callable[[np.ndarray], float],
    *,
    resamples: int = 2_000,
) -> Interval:
    """The 95 % percentile interval of a statistic of `count` units, drawn with replacement."""
    generator = stream(0, "an interval over units")
    draws: Float[np.ndarray, " n"] = np.array(
        [statistic(generator.integers(count, size=count)) for _ in range(resamples)]
    )
    return percentiles(draws)


def bootstrap_difference(
    first: Float[np.ndarray, "n S"],
    second: Float[np.ndarray, "m S"],
    resamples: int,
    generator: np.random.Generator,
) -> Interval:
    """The 95 % interval of mean(first) - mean(second), drawing units and seeds with replacement.

    Units are drawn separately for each of the two. Seeds are drawn for both together, because they
    are paired.
    """

    def drawn(values: np.ndarray, seeds: np.ndarray) -> float:
        means = values[:, seeds].mean(axis=1)
        return means[generator.integers(len(values), size=len(values))].mean()

    draws = []
    for _ in range(resamples):
        seeds = generator.integers(first.shape[1], size=first.shape[1])
        draws.append(drawn(first, seeds) - drawn(second, seeds))
    return percentiles(np.array(draws))


def jackknife(pairs: Mapping[tuple[int, int], float]) -> tuple[float, Interval | None]:
    """The mean over pairs of units, and its 95 % interval from leaving out one unit at a time.

    Pairs that share a unit are not independent; leaving out a unit with all its pairs allows for
    that. Two units have only one pair, so there is no interval.
    """
    units = sorted({unit for pair in pairs for unit in pair})
    mean = float(np.mean(list(pairs.values())))
    if len(units) < 3:
        return mean, None
    without = [np.mean([v for pair, v in pairs.items() if unit not in pair]) for unit in units]
    pseudo = [len(units) * mean - (len(units) - 1) * float(other) for other in without]
    return mean, mean_interval(pseudo)[1]
