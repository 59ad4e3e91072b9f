"""p-values of permutations, intervals of the bootstrap and of the jackknife.

A permutation test of B random orders, of which b reach the observed statistic, has the p-value
(1 + b) / (1 + B): the observed order is one of those that were possible (Phipson and Smyth).

A percentile interval of the bootstrap is the middle 95 % of the statistic over units drawn with
replacement.

The jackknife leaves out each of n units. With the pseudo-values n m - (n - 1) m_(-i), m_(-i) the
mean without unit i, the interval is Student's.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float

from ..randomness import stream
from .means import CONFIDENCE, Interval, mean_interval


def p_value(value: float, by_chance: Float[np.ndarray, " B"], *, tie: float = 0.0) -> float:
    """The share of random orders whose statistic reaches the value; 1 for a value that is NaN.

    Args:
        value: the observed statistic; large is what the test looks for.
        by_chance: the statistic under random orders.
        tie: statistics this far below the value count as equal: they differ by rounding.

    >>> p_value(2.0, np.array([0.0, 2.0, 1.0]))
    0.5
    """
    if math.isnan(value):
        return 1.0
    reached = int((by_chance >= value - tie).sum())
    return (1 + reached) / (1 + len(by_chance))


def percentiles(draws: Float[np.ndarray, " n"]) -> Interval:
    """The 95 % interval of draws of a bootstrap; those without a value are left out."""
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
    """95 % percentile interval of a statistic of `count` units, drawn with replacement."""
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
    """95 % interval of mean(first) - mean(second), units and seeds drawn with replacement.

    Units are drawn for each of the two by itself, seeds for both together: they are paired.
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

    Pairs that share a unit are not independent, which leaving out the unit with all its pairs
    allows for. Two units have one pair, which has no spread.
    """
    units = sorted({unit for pair in pairs for unit in pair})
    mean = float(np.mean(list(pairs.values())))
    if len(units) < 3:
        return mean, None
    without = [np.mean([v for pair, v in pairs.items() if unit not in pair]) for unit in units]
    pseudo = [len(units) * mean - (len(units) - 1) * float(other) for other in without]
    return mean, mean_interval(pseudo)[1]
