"""What a prediction is compared with: the optimum where it is known, else the noise itself.

At a noisy sample x_t = a x_0 + b eps the residual of a network is its
prediction minus a reference:

- `Optimum`: eps*(x_t), for data of a known law. The mean square is the *excess risk*, which a
  perfect network brings to zero.
- `HeldOut`: eps, for samples of any data. The mean square is the loss, excess risk plus a part
  that no network can avoid and that is the same for all of them.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..data.laws import Law, Powers, Rows, Source
from ..errors import InputError


class Reference(Source):
    """The source of clean samples, and what the prediction is compared with."""

    exact: bool

    @abstractmethod
    def at(self, x: Rows, eps: Rows, signal: Powers, noise: Powers | None = None) -> Rows:
        """What the prediction at noisy samples is compared with.

        Args:
            x: the noisy samples.
            eps: the noise in them.
            signal: the power of the signal in each, a^2.
            noise: the power of the noise in each, b^2; 1 - a^2 unless given.
        """


@dataclass(frozen=True, eq=False)
class Optimum(Reference):
    """The optimal prediction of a known law."""

    law: Law
    exact = True

    @property
    def size(self) -> int:
        return self.law.size

    @property
    def support(self) -> Float[np.ndarray, "D k"] | None:
        return self.law.support

    def draw(self, count: int, generator: np.random.Generator) -> Float[np.ndarray, "{count} D"]:
        return self.law.draw(count, generator)

    def at(self, x: Rows, eps: Rows, signal: Powers, noise: Powers | None = None) -> Rows:
        return self.law.optimal_noise(x, signal, noise)


@dataclass(frozen=True, eq=False)
class HeldOut(Reference):
    """The noise itself, at samples that were not trained on."""

    samples: Float[np.ndarray, "M D"]
    exact = False

    def __post_init__(self) -> None:
        if self.samples.ndim != 2 or not len(self.samples):
            raise InputError("held-out samples are rows of a matrix, at least one")
        if not np.isfinite(self.samples).all():
            raise InputError("the held-out samples have NaN or infinite values: clean them first")

    @property
    def size(self) -> int:
        return self.samples.shape[1]

    @property
    def support(self) -> None:
        return None

    def draw(self, count: int, generator: np.random.Generator) -> Float[np.ndarray, "{count} D"]:
        return self.samples[generator.integers(len(self.samples), size=count)].astype(float)

    def at(self, x: Rows, eps: Rows, signal: Powers, noise: Powers | None = None) -> Rows:
        return eps


def reference_for(data: Dataset, *, exact: bool = False) -> Reference:
    """The optimum of the data where it is known, else its held-out samples.

    Args:
        data: the dataset.
        exact: whether to refuse data without a known optimum.
    """
    if data.law is not None:
        return Optimum(data.law)
    if exact:
        raise InputError(
            f"the optimum of {data.name} is not known, so there is no exact risk: leave out exact "
            "for its held-out loss, or use gaussian:moment=DATA, Gaussian data with its second "
            "moment"
        )
    return HeldOut(data.samples.reshape(len(data), -1))
