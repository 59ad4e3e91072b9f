"""`mixture:FILE.npz`: a mixture of Gaussians, whose optimal prediction is known.

The file holds `means` of shape (m, *shape), and either the standard deviations `deviations` (m,) of
components that have the same one in all directions or `covariances` (m, D, D). `weights` (m,) are
equal unless given.
"""

import math

import numpy as np
from jaxtyping import Float

from ..data import Mixture, Normal, read_arrays
from ..errors import InputError

ARRAYS = ("means", "deviations", "covariances", "weights")


def read_mixture(path: str) -> tuple[tuple[int, ...], Mixture]:
    """The shape of a sample and the law.

    Raises:
        InputError: for a file that does not hold a mixture.
    """
    given = read_arrays(path)
    unknown = sorted(set(given) - set(ARRAYS))
    if unknown or "means" not in given or ("deviations" in given) == ("covariances" in given):
        raise InputError(
            f"{path} holds {', '.join(given) or 'nothing'}: a mixture has the arrays means, "
            "deviations or covariances, and weights if they differ"
        )
    means = given["means"]
    count, shape = len(means), means.shape[1:]
    size = math.prod(shape)
    expected = {"deviations": (count,), "covariances": (count, size, size), "weights": (count,)}
    for name, wanted in expected.items():
        if name in given and given[name].shape != wanted:
            raise InputError(
                f"{path}: {name} of {count} means of {size} entries has the shape {wanted}, got "
                f"{given[name].shape}"
            )
    weights = given.get("weights", np.full(count, 1 / count))
    if math.isclose(weights.sum(), 1, rel_tol=1e-5):  # rounding in single precision
        weights = weights / weights.sum()
    flat = means.reshape(count, -1)
    if "deviations" in given:
        parts = [_round(mean, float(d)) for mean, d in zip(flat, given["deviations"], strict=True)]
    else:
        parts = [_general(*pair) for pair in zip(flat, given["covariances"], strict=True)]
    return shape, Mixture(weights, tuple(parts))


def _round(mean: Float[np.ndarray, " D"], deviation: float) -> Normal:
    if deviation < 0:
        raise InputError(f"the standard deviations of a mixture are not negative, got {deviation}")
    return Normal(mean, np.zeros((len(mean), 0)), np.zeros(0), deviation**2)


def _general(mean: Float[np.ndarray, " D"], covariance: Float[np.ndarray, "D D"]) -> Normal:
    if not np.allclose(covariance, covariance.T, atol=1e-6 * np.abs(covariance).max()):
        raise InputError("the covariances of a mixture are symmetric matrices")
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    if values[0] < -1e-6 * max(values[-1], 0.0):
        raise InputError("the covariances of a mixture have no negative eigenvalues")
    kept = values > max(values[-1], 0.0) * len(values) * np.finfo(np.float32).eps
    return Normal(mean, vectors[:, kept], values[kept], 0.0)
