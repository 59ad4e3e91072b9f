"""The exact 2-Wasserstein distance of a sample to a known Gaussian on the line.

For sorted x_1 <= ... <= x_n and N(mu, sigma^2) with quantile function mu + sigma z(q),

    W2^2 = sum_i int_{(i-1)/n}^{i/n} (x_i - mu - sigma z(q))^2 dq.

As dz/dq = 1/phi(z) with phi the normal density, and phi' = -z phi, the mean of z over bin i is
m_i = n [phi(z((i-1)/n)) - phi(z(i/n))]. Splitting each integral into
the bin's mean and the spread around it,

    W2^2 = mean_i (x_i - mu - sigma m_i)^2 + sigma^2 (1 - mean_i m_i^2),

a sum of two non-negative terms without cancellation. The second is the floor, the distance of the
best n points. With sigma = 0 the Gaussian is the point mu.
"""

import math

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from ..errors import InputError
from .checks import direction_norms, finite, sample_pair


def gaussian_wasserstein_1d(
    sample: Float[np.ndarray, " N"], *, mean: float = 0.0, std: float
) -> float:
    """W2 between a sample on the line and N(mean, std^2).

    >>> gaussian_wasserstein_1d(np.array([5.0]), mean=1.0, std=3.0)
    5.0
    """
    sample = np.asarray(sample)
    if sample.ndim != 1 or len(sample) < 1:
        raise InputError(f"sample must have shape (N,) with N of at least 1, got {sample.shape}")
    finite("sample", sample)
    if not (math.isfinite(mean) and math.isfinite(std) and std >= 0):
        raise InputError(f"mean must be finite and std finite and >= 0, got {mean} and {std}")
    count = len(sample)
    edges = ndtri(np.arange(count + 1) / count)
    density = np.exp(-(edges**2) / 2) / math.sqrt(2 * math.pi)
    centres = -count * np.diff(density)
    misfit = np.sort(sample).astype(np.float64) - mean - std * centres
    return math.sqrt(np.mean(misfit**2) + std**2 * max(0.0, 1 - np.mean(centres**2)))


def gaussian_wasserstein(
    x: Float[np.ndarray, "N D"],
    direction: Float[np.ndarray, " D"],
    *,
    mean: float = 0.0,
    std: float,
) -> float:
    """W2 between the projections of x on a direction and N(mean, std^2).

    Args:
        direction: scaled to unit length; mean and std are those along it. Rank-one data
            x = sqrt(D) g v has mean 0 and std sqrt(D) along v, and 0 across.
    """
    x, _ = sample_pair(x, x)
    direction = np.asarray(direction)
    if direction.shape != x.shape[1:]:
        raise InputError(f"direction must have shape {x.shape[1:]}, got {direction.shape}")
    length = direction_norms("direction", direction[None], x.shape[1]).item()
    return gaussian_wasserstein_1d(x @ (direction / length), mean=mean, std=std)
