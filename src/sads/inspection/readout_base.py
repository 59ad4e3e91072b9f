"""What is accumulated over networks, and how it becomes the factor; see `readout` for the kinds."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..devices import available_memory, require_memory
from ..directions.structure import (
    STRUCTURES,
    Dense,
    Structure,
)

#: Bytes for each entry of the factor, at the peak. The sums of all folds take 48, a snapshot of
#: them as many; the spectrum stacks the folds. Measured at 1,600 rows: 123 for the estimate, 298
#: with the spectrum.
PEAK = 300
EXACT_PEAK = 64  # for a closed form: the factor, its eigenvectors and their computation


@dataclass(frozen=True)
class ReadOut(ABC):
    """What is accumulated over networks, and how it becomes the factor.

    Args:
        shape: shape of one sample.
        width: features at each position or token; samples for each network.
        weight_variance: s_w^2.
        bias_variance: s_b^2.
        kernel: kernel size of a convolution.
        patch: side of a patch for tokens, or its side along each axis.
        arrangement: kind of the structure, if it is not the usual one of the last layer.
        floor: the multiple of the identity that the constant part of the output adds.
        constant: whether the constant part of the output is accumulated.
        settled: whether biases are added batch by batch, because their share differs between
            networks.
    """

    kind: str = field(default="", kw_only=True)  # the first entry of what is stored
    shape: tuple[int, ...]
    width: int = 1
    weight_variance: float = 1.0
    bias_variance: float = 0.0
    kernel: tuple[int, ...] = ()
    patch: int | tuple[int, ...] = 1
    arrangement: str | None = None
    floor: float = 0.0
    constant: bool = False
    settled: bool = False

    usual: ClassVar[type[Structure]] = Dense  # the structure that this last layer imposes

    @property
    def structure(self) -> Structure:
        """The structure of what is accumulated: the one that the last layer imposes, or none."""
        return Dense(self.shape) if self.constant else self.imposed

    @property
    def accumulated(self) -> int:
        """Rows of the symmetric matrix that is summed over networks."""
        return self.structure.rows

    @property
    def rows(self) -> int:
        """Rows of the factor."""
        return self.structure.rows

    @property
    def last_layer(self) -> str:
        """The kind of the last layer."""
        return self.kind

    @property
    def imposed(self) -> Structure:
        """The structure that the last layer imposes."""
        structure = STRUCTURES[self.arrangement] if self.arrangement else self.usual
        return structure(self.shape, self.patch)

    @property
    def rank(self) -> int:
        """The rank that one network contributes to what is accumulated."""
        imposed = self.imposed
        own = min(imposed.rows, self._own_rank)
        return own * imposed.copies if self.constant else own

    @property
    def _own_rank(self) -> int:
        return self.width

    def peak_memory(self, *, exact: bool = False) -> int:
        """Bytes that an estimate takes at its peak, including its spectrum."""
        return (EXACT_PEAK if exact else PEAK) * self.structure.rows**2

    def require_memory(self, *, exact: bool = False) -> None:
        """Refuse a factor that cannot fit in memory.

        Raises:
            InputError: with the bytes that are needed and available, and what would fit.
        """
        structure = self.structure
        fitting = math.isqrt(available_memory() // (EXACT_PEAK if exact else PEAK))
        require_memory(
            self.peak_memory(exact=exact),
            f"a factor of {structure.rows:,} x {structure.rows:,} ({structure.kind} on "
            f"{'x'.join(map(str, self.shape))})",
            f"choose a smaller shape, {fitting:,} rows would fit",
        )

    def moment(
        self,
        h: Float[Tensor, "N ..."],
        a: Float[Tensor, "N ..."] | None = None,
        bias: float = 0.0,
    ) -> Float[Tensor, "n n"]:
        """Sum over networks of the second moment of the features, in float64.

        Args:
            h: features, or outputs, of N networks.
            a: the constant parts of their outputs, if those are accumulated.
            bias: summed variance of their last biases, if those are added here.
        """
        raw = self._raw(h.double())
        if not (self.constant or self.settled):
            return raw
        linear = self._integrated(raw.cpu().numpy(), len(h)) + bias
        if a is None:
            return torch.from_numpy(linear)
        flat = a.double().flatten(1)
        return torch.from_numpy(self.imposed.expand(linear)).to(flat.device) + flat.T @ flat

    @abstractmethod
    def _raw(self, h: Float[Tensor, "N ..."]) -> Float[Tensor, "n n"]:
        """The sum over networks, before the last layer is integrated."""

    def pieces(self, h: Float[Tensor, "N ..."]) -> Iterator[Float[Tensor, "k n"]]:
        """Vectors v over the imposed rows, for which the sum of v v^T is the last layer's U^T U.

        Each piece is as large as the features, which are never unfolded as a whole.
        """
        yield h.flatten(1)

    def trace(self, moment: Float[np.ndarray, "n n"]) -> float:
        """The trace of the whole factor from the mean moment of one network."""
        return float(np.trace(self.factor(moment)))

    def factor(self, moment: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
        """The factor from the mean moment of one network."""
        whole = self.constant or self.settled
        factor = moment if whole else self._integrated(moment, 1)
        return factor + self.floor * np.eye(len(factor)) if self.floor else factor

    def _integrated(self, moment: Float[np.ndarray, "n n"], count: int) -> Float[np.ndarray, "n n"]:
        """The last layer integrated, given the summed moment of `count` networks."""
        factor = self.weight_variance * moment
        factor += count * self.bias_variance
        return factor
