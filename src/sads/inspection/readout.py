"""The last layer, integrated exactly (propositions 1 to 3 as a Rao-Blackwell step).

If the output is z = Q(W h + b) with entries of W and b that are zero-mean, uncorrelated and
independent of the features h, of variance s_w^2 and s_b^2, then given h

| last layer        | E[z z^T | h]                                            | structure   |
|-------------------|---------------------------------------------------------|-------------|
| convolution       | I_C (x) (s_w^2 U^T U + s_b^2 1 1^T), U = unfold(h)      | `channels`  |
| token-wise linear | Q [(s_w^2 H H^T + s_b^2 1 1^T) (x) I] Q^T               | `tokens`    |
| dense linear      | (s_w^2 |h|^2 + s_b^2) I                                 | `isotropic` |
| none              | z z^T                                                   | `dense`     |

so one network contributes hundreds of ranks instead of one.

The sum over kernel offsets in U^T U commutes with the mean over networks: with K = h^T h (positions
by positions, summed over channels), (U^T U)[p, q] = sum_d K[p + d, q + d]. Only K is accumulated,
k^2 times cheaper than U^T U, and the offsets are summed once at the end (`factor`).

An affine output a(x, t) + s_t z adds E[a a^T]. Where a is a multiple of an isotropic Gaussian
input, that is a multiple of the identity, known exactly (`floor`); otherwise a a^T is accumulated,
and with it the whole of G instead of its small factor (`constant`).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ..devices import available_memory, require_memory
from ..directions.structure import (
    STRUCTURES,
    Channels,
    Dense,
    Isotropic,
    Structure,
    Tokens,
)
from ..networks import ScoreNetwork

#: Bytes for each entry of the factor, at the peak. Sums of all folds are 48, a snapshot of them as
#: much; the spectrum stacks the folds. Measured at 1,600 rows: 123 to estimate, 298 with spectrum.
PEAK = 300
EXACT_PEAK = 64  # of a closed form: the factor, its eigenvectors and what the decomposition takes


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
        arrangement: kind of the structure, where the kind of the last layer does not tell it.
        floor: the multiple of the identity that the constant part of the output adds.
        constant: whether the constant part of the output is accumulated.
        settled: whether biases are added batch by batch, because each network's share of them is
            its own.
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
        """The structure of what is accumulated: that which the last layer imposes on G, or none."""
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
        """Rank that one network contributes to what is accumulated."""
        imposed = self.imposed
        own = min(imposed.rows, self._own_rank)
        return own * imposed.copies if self.constant else own

    @property
    def _own_rank(self) -> int:
        return self.width

    def peak_memory(self, *, exact: bool = False) -> int:
        """Bytes that an estimate takes at its peak, its spectrum included."""
        return (EXACT_PEAK if exact else PEAK) * self.structure.rows**2

    def require_memory(self, *, exact: bool = False) -> None:
        """Refuse a factor that cannot fit in memory.

        Raises:
            InputError: with the bytes that are needed and there, and what would fit.
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
            a: the constant parts of their outputs, where those are accumulated.
            bias: summed variance of their last biases, where those are added here.
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
        """Vectors v over the imposed rows, whose v v^T add up to the last layer's U^T U.

        A piece at a time, each as large as the features: they are never unfolded.
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
        """The last layer integrated over `count` networks' summed moment."""
        return self.weight_variance * moment + count * self.bias_variance


@dataclass(frozen=True)
class Convolution(ReadOut):
    """Features before a convolution."""

    kind: Literal["convolution"] = field(default="convolution", kw_only=True)
    usual: ClassVar[type[Structure]] = Channels

    @property
    def _own_rank(self) -> int:
        return self.width * math.prod(self.kernel)

    @property
    def spatial(self) -> tuple[int, ...]:
        """Positions of the convolution's output."""
        return self.imposed.places

    def _raw(self, h: Float[Tensor, "N c ..."]) -> Float[Tensor, "n n"]:
        flat = h.flatten(2).flatten(0, 1)
        return flat.T @ flat

    def pieces(self, h: Float[Tensor, "N c ..."]) -> Iterator[Float[Tensor, "k n"]]:
        """The maps of all channels, seen through one offset of the kernel after another."""
        maps = h.flatten(0, 1)
        for offset in product(*(range(-(size // 2), size // 2 + 1) for size in self.kernel)):
            # A negative padding cuts: the map moves by the offset, and zeros follow.
            sides = [side for d in reversed(offset) for side in (-d, d)]
            yield F.pad(maps, sides).flatten(1)

    def _integrated(self, moment: Float[np.ndarray, "n n"], count: int) -> Float[np.ndarray, "n n"]:
        return super()._integrated(sum_over_offsets(moment, self.spatial, self.kernel), count)


@dataclass(frozen=True)
class TokenWise(ReadOut):
    """Features before a linear layer that acts on every token."""

    kind: Literal["tokens"] = field(default="tokens", kw_only=True)
    usual: ClassVar[type[Structure]] = Tokens

    def _raw(self, h: Float[Tensor, "N n c"]) -> Float[Tensor, "n n"]:
        flat = h.transpose(0, 1).flatten(1)
        return flat @ flat.T

    def pieces(self, h: Float[Tensor, "N n c"]) -> Iterator[Float[Tensor, "k n"]]:
        yield h.transpose(1, 2).flatten(0, 1)


@dataclass(frozen=True)
class DenseLayer(ReadOut):
    """Features before a linear layer that makes the whole sample."""

    kind: Literal["dense"] = field(default="dense", kw_only=True)
    usual: ClassVar[type[Structure]] = Isotropic

    @property
    def _own_rank(self) -> int:
        return self.imposed.rows

    def _raw(self, h: Float[Tensor, "N ..."]) -> Float[Tensor, "1 1"]:
        return h.square().sum().view(1, 1)

    def pieces(self, h: Float[Tensor, "N ..."]) -> Iterator[Float[Tensor, "k 1"]]:
        yield h.reshape(-1, 1)


@dataclass(frozen=True)
class RandomLayers(ReadOut):
    """Outputs of several random last layers on the features of each network."""

    kind: Literal["random"] = field(default="random", kw_only=True)

    def _raw(self, h: Float[Tensor, "N r D"]) -> Float[Tensor, "D D"]:
        flat = h.flatten(0, 1)
        return flat.T @ flat / self.width

    def pieces(self, h: Float[Tensor, "N r D"]) -> Iterator[Float[Tensor, "k D"]]:
        yield h.flatten(0, 1) / math.sqrt(self.width)


@dataclass(frozen=True)
class Sampled(ReadOut):
    """Outputs of the networks themselves: nothing is integrated."""

    kind: Literal["sampled"] = field(default="sampled", kw_only=True)

    @property
    def _own_rank(self) -> int:
        return 1

    def _raw(self, h: Float[Tensor, "N ..."]) -> Float[Tensor, "D D"]:
        flat = h.flatten(1)
        return flat.T @ flat


@dataclass(frozen=True)
class JacobianProducts(ReadOut):
    """Products J w of each network's Jacobian with several Gaussian w."""

    kind: Literal["tangent"] = field(default="tangent", kw_only=True)

    def _raw(self, h: Float[Tensor, "N r ..."]) -> Float[Tensor, "D D"]:
        flat = h.flatten(2).flatten(0, 1)
        return flat.T @ flat / self.width

    def pieces(self, h: Float[Tensor, "N r ..."]) -> Iterator[Float[Tensor, "k D"]]:
        yield h.flatten(2).flatten(0, 1) / math.sqrt(self.width)


PlainReadOut = Convolution | TokenWise | DenseLayer | RandomLayers | Sampled | JacobianProducts


def sum_over_offsets(
    k: Float[np.ndarray, "n n"], spatial: tuple[int, ...], kernel: tuple[int, ...]
) -> Float[np.ndarray, "n n"]:
    """sum_d K[p + d, q + d] over the kernel's offsets d, zero outside the grid."""
    grid = k.reshape(spatial * 2)
    total = np.zeros_like(grid)
    for offset in product(*(range(-(size // 2), size // 2 + 1) for size in kernel)):
        to = tuple(slice(max(0, -d), n - max(0, d)) for d, n in zip(offset, spatial, strict=True))
        of = tuple(slice(max(0, d), n - max(0, -d)) for d, n in zip(offset, spatial, strict=True))
        total[to + to] += grid[of + of]
    return total.reshape(k.shape)


def readout_of(network: ScoreNetwork) -> PlainReadOut:
    """The read-out of one of our networks, from its last layer and declared initialisation."""
    if network.readout == "sampled":
        return Sampled(network.shape)
    distributions = network.distributions()
    weight = distributions["head.weight"].variance
    bias = distributions["head.bias"].variance
    head = network.head
    if isinstance(head, (nn.Conv1d, nn.Conv2d)):
        kernel = tuple(int(k) for k in head.kernel_size)
        return Convolution(network.shape, head.in_channels, weight, bias, kernel)
    width = int(network.get_parameter("head.weight").shape[1])
    patch = int(getattr(network, "patch", 1))
    linear = DenseLayer if network.readout == "dense" else TokenWise
    return linear(network.shape, width, weight, bias, patch=patch)
