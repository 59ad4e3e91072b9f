"""Tests of differences between paired folds that assume only that the noise is symmetric.

Two estimates give independent differences D_1 ... D_K. If both estimate the same quantity, negating
any difference leaves the distribution unchanged, so a statistic is compared with its values under
all 2^(K-1) sign patterns s. There are two statistics. Both are divided by a quantity that no
pattern changes, so that bands can be compared:

    linear     |sum_f s_f d_f| / sqrt(sum_f d_f^2)                            for a number d_f,
    quadratic  sum_{f != g} s_f s_g <D_f, D_g> / sqrt(sum_{f != g} <D_f, D_g>^2)  for a matrix D_f.

Many bands are tested at once. The p-value of a band in its *family* (for example, the ratios of all
bands) is the share of patterns under which the largest statistic of the family reaches the
statistic of the band (Westfall and Young). It can be as small as 2^-(K-1) for any number of bands.
Holm's correction of single p-values multiplies that bound by the number of bands, and with 12 folds
and 21 bands or more could never reach 0.01. Several families are combined in the same way: the
corrected p-value is the share of patterns under which the *smallest* p-value of all families is at
most that of the statistic. So the p-value of any difference at all is the smallest one, and no
single difference is significant unless the whole is.

Size is measured by U = sum_{f != g} u_f u_g <D_f, D_g> / sum_{f != g} u_f u_g with the weights u_f
of the folds. Without the terms f = g, noise does not contribute to its expectation |E D|_F^2.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float

TIE = 1e-9  # statistics this close count as equal, to allow for rounding


def sign_patterns(count: int) -> Float[np.ndarray, "S count"]:
    """All sign patterns up to a global sign; the first one leaves the data as they are.

    >>> sign_patterns(2)
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    patterns = np.array(list(product((1.0, -1.0), repeat=count - 1)))
    return np.hstack([np.ones((len(patterns), 1)), patterns])


def linear(values: Float[np.ndarray, "K B"]) -> Float[np.ndarray, "S B"]:
    """The linear statistic of each column under every pattern; the first row is the data."""
    sums = np.abs(sign_patterns(len(values)) @ values)
    return _scaled(sums, np.sqrt(np.sum(values**2, axis=0)))


def quadratic(grams: Float[np.ndarray, "B K K"]) -> Float[np.ndarray, "S B"]:
    """The quadratic statistic of each Gram matrix under every pattern; first row: the data."""
    count = grams.shape[1]
    off = (grams * (1 - np.eye(count))).reshape(len(grams), -1)
    signs = sign_patterns(count)
    products = (signs[:, :, None] * signs[:, None, :]).reshape(len(signs), -1)
    return _scaled(products @ off.T, np.linalg.norm(off, axis=1))


def _scaled(
    statistics: Float[np.ndarray, "S B"], scale: Float[np.ndarray, " B"]
) -> Float[np.ndarray, "S B"]:
    return np.divide(statistics, scale, out=np.zeros_like(statistics), where=scale > 0)


@dataclass(frozen=True)
class Judged:
    """p-values of several families of statistics, corrected for all of them together.

    Attributes:
        p_value: the p-value of the hypothesis that no family has a difference.
        p_values: one for each column of each family; none is below `p_value`.
        critical: for each family, the value above which the p-value of a statistic is at most the
            level.
    """

    p_value: float
    p_values: list[Float[np.ndarray, " _"]]
    critical: list[float]


def judged(families: list[Float[np.ndarray, "S _"]], level: float) -> Judged:
    """Test families of statistics; the first row of each is the data."""
    largest = [np.sort(family.max(axis=1)) for family in families]
    count = len(largest[0])

    def share(ordered: np.ndarray, reached: np.ndarray) -> np.ndarray:
        """The share of patterns whose largest statistic reaches each of some statistics."""
        return (count - np.searchsorted(ordered, reached - TIE)) / count

    every = [share(o, f.max(axis=1)) for o, f in zip(largest, families, strict=True)]
    smallest = np.sort(np.min(every, axis=0))

    def corrected(shares: np.ndarray) -> np.ndarray:
        return np.searchsorted(smallest, shares + TIE, side="right") / count

    p_values = [corrected(share(o, f[0])) for o, f in zip(largest, families, strict=True)]
    # The number of patterns that may reach a statistic whose p-value is at most the level.
    allowed = int(np.sum(corrected(np.arange(1, count + 1) / count) <= level))
    critical = [float(ordered[count - allowed - 1]) + TIE for ordered in largest]
    return Judged(float(min(p.min() for p in p_values)), p_values, critical)


def u_statistic(
    gram: Float[np.ndarray, "K K"], weights: Float[np.ndarray, " K"]
) -> tuple[float, float]:
    """U and its standard error, by leaving out each fold in turn.

    If E D = 0, this standard error is too large by a factor of about sqrt(2).

    Args:
        gram: <D_f, D_g> of the *weighted* differences u_f D_f.
        weights: u_f, which sum to one.
    """
    off, pairs = gram - np.diag(np.diag(gram)), np.outer(weights, weights)
    pairs -= np.diag(np.diag(pairs))
    without = off.sum() - 2 * off.sum(axis=1)
    replicates = without / (pairs.sum() - 2 * pairs.sum(axis=1))
    count = len(weights)
    error = np.sqrt((count - 1) / count * np.sum((replicates - replicates.mean()) ** 2))
    return float(off.sum() / pairs.sum()), float(error)
