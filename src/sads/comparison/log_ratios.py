"""Ratios of eigenvalues and the factor that most of them share, on a logarithmic scale.

With a_fk and b_fk the mean of the diagonals of S^T A_f S and S^T B_f S over band k in fold f, and
a_k, b_k their means with the weights u_f of the folds,

    L_k = log(b_k / a_k),      y_fk = u_f (L_k + b_fk / b_k - a_fk / a_k),      sum_f y_fk = L_k:

the y_fk are what each fold says about L_k, to first order. They change sign with the geometries,
so that they can be tested by sign flips, and a test of L_k - theta is one of y_fk - u_f theta,
which gives an interval (`interval`) that agrees with the test.

*The common factor* c is where most directions agree: Huber's estimate of location of the L_k,
each counted by its directions. It starts from the median and uses 1.5 times the spread about it,
so that one changed eigenvalue does not move it, and two halves changed by opposite factors give
the middle. As a mean it would be 1.09 where one of 16 eigenvalues is four times larger, and all
the others would look smaller. With omega_k the share of band k in the estimate (zero where it is
clipped), y_f = u_f log c + sum_k omega_k (y_fk - u_f L_k).

A band *relative* to the factor is L_k - log c with y_fk - y_f.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from .whitened_difference import WhitenedDifference

NOTHING = 1e-9  # a geometry has nothing in a band where it has less than this of the mean
HUBER = 1.5
NORMAL = 1.4826  # from the median of |x| to the standard deviation of normal x
ROUNDS = 100
ROUNDING = 1e-12


@dataclass(frozen=True)
class LogRatios:
    """log c and L_k, and what each fold says about them.

    Attributes:
        weights: u_f.
        scale: log c.
        scale_folds: y_f, summing to it.
        known: bands where both geometries have something; others have no ratio.
        bands: L_k, 0 where unknown.
        band_folds: y_fk, summing to it; where unknown, differences instead of logarithms.
    """

    weights: Float[np.ndarray, " K"]
    scale: float
    scale_folds: Float[np.ndarray, " K"]
    known: Bool[np.ndarray, " b"]
    bands: Float[np.ndarray, " b"]
    band_folds: Float[np.ndarray, "K b"]

    @classmethod
    def of(cls, found: WhitenedDifference) -> "LogRatios":
        """The ratios of the second geometry to the first."""
        first, second = found.band_means(found.first), found.band_means(found.second)
        weights = found.weights
        known = np.minimum(weights @ first, weights @ second) > NOTHING
        bands, folds = np.zeros(len(known)), found.difference.means.copy()
        bands[known], folds[:, known] = _logarithms(first[:, known], second[:, known], weights)
        if not known.any():  # nothing in common: all that can be compared is the trace
            first, second = ((z @ found.eigenvalues)[:, None] for z in (found.first, found.second))
            whole, whole_folds = _logarithms(first, second, weights)
            return cls(weights, float(whole[0]), whole_folds[:, 0], known, bands, folds)
        scale, share = common(bands[known], found.width[known])
        spread = (folds[:, known] - np.outer(weights, bands[known])) @ share
        return cls(weights, scale, weights * scale + spread, known, bands, folds)

    @property
    def relative(self) -> Float[np.ndarray, " b"]:
        """L_k - log c."""
        return np.where(self.known, self.bands - self.scale, 0.0)

    @property
    def relative_folds(self) -> Float[np.ndarray, "K b"]:
        return self.band_folds - self.scale_folds[:, None]

    def error(self, folds: Float[np.ndarray, " K"]) -> float:
        """Standard error of a sum over the folds."""
        count, total = len(self.weights), folds.sum()
        rest = folds - self.weights * total
        return math.sqrt(count / max(count - 1, 1) * float(rest @ rest))


def _logarithms(
    first: Float[np.ndarray, "K b"],
    second: Float[np.ndarray, "K b"],
    weights: Float[np.ndarray, " K"],
) -> tuple[Float[np.ndarray, " b"], Float[np.ndarray, "K b"]]:
    """L_k and y_fk."""
    a, b = weights @ first, weights @ second
    logarithms = np.log(b / a)
    return logarithms, weights[:, None] * (logarithms + second / b - first / a)


def common(
    values: Float[np.ndarray, " b"], counts: Int[np.ndarray, " b"]
) -> tuple[float, Float[np.ndarray, " b"]]:
    """Huber's estimate of location, and the share of each value in it.

    >>> common(np.array([0.0, 0.0, 0.0, 5.0]), np.array([1, 1, 1, 1]))[0]
    0.0
    """
    centre = _median(values, counts)
    reach = HUBER * NORMAL * _median(np.abs(values - centre), counts)
    if reach > ROUNDING:
        for _ in range(ROUNDS):
            step = float(counts @ np.clip(values - centre, -reach, reach)) / float(counts.sum())
            centre += step
            if abs(step) <= ROUNDING * reach:
                break
    share = counts * (np.abs(values - centre) <= max(reach, ROUNDING))
    if not share.any():  # two far groups of one size: the middle is the mean of both
        share = counts
    return centre, share / share.sum()


def _median(values: Float[np.ndarray, " b"], counts: Int[np.ndarray, " b"]) -> float:
    """The median of values that count so often; the middle of two where it is between them."""
    order = np.argsort(values, kind="stable")
    cumulated, half = np.cumsum(counts[order]), counts.sum() / 2
    low, high = np.searchsorted(cumulated, half), np.searchsorted(cumulated, half, side="right")
    return float(values[order[low]] + values[order[min(high, len(values) - 1)]]) / 2


def interval(
    estimate: float,
    folds: Float[np.ndarray, " K"],
    weights: Float[np.ndarray, " K"],
    critical: float,
) -> tuple[float, float]:
    """All theta for which the linear statistic of `folds - weights theta` is at most `critical`.

    With delta = estimate - theta and rests q_f = y_f - u_f estimate the condition is
    delta^2 <= critical^2 (delta^2 sum u^2 + 2 delta sum u q + sum q^2), a quadratic one.
    """
    rest = folds - weights * estimate
    square = 1 - critical**2 * float(weights @ weights)
    if square <= 0:
        return -math.inf, math.inf
    middle = critical**2 * float(weights @ rest) / square
    root = math.sqrt(middle**2 + critical**2 * float(rest @ rest) / square)
    return float(estimate - middle - root), float(estimate - middle + root)
