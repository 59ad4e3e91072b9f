"""How much of a training's loss no linear network can avoid, direction by direction.

On a path x_t = a x_0 + b eps a network predicts p x_0 + q eps. Along a unit direction u with
c = Var(u^T x_0), the pair (x_t, target) is a linear map of (x_0, eps), so that the best affine
prediction from u^T x_t alone leaves

    F(c) = c (a q - b p)^2 / (a^2 c + b^2).

For noise on a path that preserves variance (a^2 = abar, b^2 = 1 - abar, p = 0, q = 1) that is
abar c / (abar c + 1 - abar). The p and q of every prediction are in `path.predictions`.

F is concave, so F at the mean of c over a group is no less than the group's mean; and a network
that is not linear, or looks at other directions too, may leave less. So F is the most
that a network leaves once it has learned everything of first and second order, and shares computed
with it are never too small.
"""

import numpy as np
from jaxtyping import Float, Int

from ..directions.sets import DirectionSet
from ..errors import InputError
from ..path import DiffusionPath
from ..path.predictions import Prediction

TOGETHER = 2**22  # entries of samples that are projected at once


def variances_of_data(
    directions: DirectionSet, samples: Float[np.ndarray, "N ..."]
) -> Float[np.ndarray, " k"]:
    """Var(u^T x) of one direction of each group, the mean over the group.

    Raises:
        InputError: if the samples have another shape, are missing or are not finite.
    """
    if samples.ndim < 2 or tuple(samples.shape[1:]) != directions.shape or not len(samples):
        expected = ", ".join(map(str, directions.shape))
        raise InputError(f"data have shape (N, {expected}), got {tuple(samples.shape)}")
    rows = max(1, TOGETHER // directions.size)
    centre = np.asarray(samples.mean(axis=0, dtype=float)).reshape(1, -1)
    total = np.zeros(len(directions.widths))
    for start in range(0, len(samples), rows):
        part = np.asarray(samples[start : start + rows], dtype=float).reshape(-1, directions.size)
        total += directions.products(part - centre, part - centre).sum(axis=0)
    if not np.isfinite(total).all():
        raise InputError("the data have NaN or infinite entries")
    return total / len(samples) / directions.widths


def unavoidable_loss(
    variances: Float[np.ndarray, " k"],
    path: DiffusionPath,
    prediction: Prediction,
    bins: Int[np.ndarray, " T"],
    count: int,
) -> Float[np.ndarray, "k B"]:
    """F by group of directions and bin of noise levels, the mean over the levels of each bin.

    Args:
        variances: c of each group.
        path: from data to noise.
        prediction: what the network predicts.
        bins: the bin of each level of the path.
        count: the number of bins; those without a level are interpolated from their neighbours.

    >>> from sads.path import Schedule, prediction_named
    >>> path, v = Schedule(steps=100), prediction_named("v")
    >>> unavoidable_loss(np.array([1.0]), path, v, np.arange(100) // 50, 2).round(6).tolist()
    [[1.0, 1.0]]
    """
    p, q = prediction.mix(path)
    a, b, c = path.signal, path.noise, variances[:, None]
    left = c * (a * q - b * p) ** 2 / (a**2 * c + b**2)
    sums = np.stack([np.bincount(bins, row, minlength=count) for row in left])
    levels = np.bincount(bins, minlength=count)
    known = np.flatnonzero(levels)
    means = sums[:, known] / levels[known]
    return np.stack([np.interp(np.arange(count), known, row) for row in means])
