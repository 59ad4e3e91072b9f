"""What there is to learn in a dataset, as a law whose optimum is known.

| data                           | target                                                          |
|--------------------------------|-----------------------------------------------------------------|
| of a known law                 | `exact`: its optimum                                            |
| samples of few entries         | `linear`: the optimum of Gaussian data of their second moment   |
| samples of many entries        | `spectrum`: the same with a moment that is diagonal in the DCT  |

The optimum of Gaussian data N(0, C), C the second moment, is linear in x, and no other linear
prediction of the noise is better for the data itself, since E[eps x^T] E[x x^T]^-1 depends on these
two moments alone. A diagonal moment needs no D x D matrix; it is right for data whose statistics
are the same at all places, and leaves out correlations between channels.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.fft import dctn, idctn

from ..data import Dataset
from ..data.laws import Law, Normal, Powers, Rows, powers
from .references import HeldOut, Optimum, Reference

MOST_ENTRIES = 4_096  # for a whole moment
TOGETHER = 64  # large samples transformed at once


@dataclass(frozen=True, eq=False)
class Goal:
    """Data and what is to be learned from it.

    Attributes:
        reference: where batches come from.
        target: the law whose optimum is to be learned.
        kind: `exact`, `linear` or `spectrum`, as in the table above.
    """

    reference: Reference
    target: Law
    kind: str


@dataclass(frozen=True, eq=False)
class CosineNormal(Law):
    """N(0, C) with C diagonal in the DCT of every channel.

    Attributes:
        shape: shape of one sample.
        variances: the variances of all coefficients.
    """

    shape: tuple[int, ...]
    variances: Float[np.ndarray, " D"]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def support(self) -> None:
        return None

    def draw(self, count: int, generator: np.random.Generator) -> Float[np.ndarray, "{count} D"]:
        white = generator.standard_normal((count, self.size))
        return self._back(white * np.sqrt(self.variances))

    def optimal_noise(self, x: Rows, signal: Powers, noise: Powers | None = None) -> Rows:
        a, s = (power[:, None] for power in powers(signal, noise))
        return self._back(cosines(x, self.shape) * np.sqrt(s) / (a * self.variances + s))

    def _back(self, coefficients: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        images = coefficients.reshape(-1, *self.shape)
        axes = _axes(self.shape)
        return np.asarray(idctn(images, axes=axes, norm="ortho")).reshape(coefficients.shape)


def _axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The spatial axes of a batch."""
    return tuple(range(2 if len(shape) > 1 else 1, len(shape) + 1))


def cosines(x: Float[np.ndarray, "N D"], shape: tuple[int, ...]) -> Float[np.ndarray, "N D"]:
    """The DCT of every channel."""
    images = x.reshape(-1, *shape)
    return np.asarray(dctn(images, axes=_axes(shape), norm="ortho")).reshape(x.shape)


def goal_for(data: Dataset) -> Goal:
    """What is to be learned from a dataset."""
    if data.law is not None:
        return Goal(Optimum(data.law), data.law, "exact")
    samples = data.samples.reshape(len(data), -1)
    reference = HeldOut(samples)
    if samples.shape[1] <= MOST_ENTRIES:
        wide = samples.astype(float)
        return Goal(reference, Normal.of_moment(wide.T @ wide / len(wide)), "linear")
    total = np.zeros(samples.shape[1])
    for start in range(0, len(samples), TOGETHER):
        total += np.square(cosines(samples[start : start + TOGETHER], data.shape)).sum(axis=0)
    return Goal(reference, CosineNormal(data.shape, total / len(samples)), "spectrum")
