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
which is k^2 times cheaper than U^T U, and the offsets are summed once at the end (`factor`).

An affine output a(x, t) + s_t z adds E[a a^T]. If a is a multiple of an isotropic Gaussian input,
that is an exactly known multiple of the identity (`floor`). Otherwise a a^T is accumulated, and
with it the whole of G instead of its small factor (`constant`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar, Literal

import numpy as np
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ..directions.structure import Channels, Isotropic, Structure, Tokens
from ..networks import ScoreNetwork
from .readout_base import ReadOut


@dataclass(frozen=True)
class Convolution(ReadOut):
    """A read-out of features before a convolution."""

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
        """The maps of all channels, moved by one offset of the kernel after another."""
        maps = h.flatten(0, 1)
        for offset in product(*(range(-(size // 2), size // 2 + 1) for size in self.kernel)):
            # Negative padding cuts, so that the map moves by the offset and zeros follow.
            sides = [side for d in reversed(offset) for side in (-d, d)]
            yield F.pad(maps, sides).flatten(1)

    def _integrated(self, moment: Float[np.ndarray, "n n"], count: int) -> Float[np.ndarray, "n n"]:
        return super()._integrated(sum_over_offsets(moment, self.spatial, self.kernel), count)


@dataclass(frozen=True)
class TokenWise(ReadOut):
    """A read-out of features before a linear layer that acts on every token."""

    kind: Literal["tokens"] = field(default="tokens", kw_only=True)
    usual: ClassVar[type[Structure]] = Tokens

    def _raw(self, h: Float[Tensor, "N n c"]) -> Float[Tensor, "n n"]:
        flat = h.transpose(0, 1).flatten(1)
        return flat @ flat.T

    def pieces(self, h: Float[Tensor, "N n c"]) -> Iterator[Float[Tensor, "k n"]]:
        yield h.transpose(1, 2).flatten(0, 1)


@dataclass(frozen=True)
class DenseLayer(ReadOut):
    """A read-out of features before a linear layer that makes the whole sample."""

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
    """A read-out of the outputs of several random last layers on the features of each network."""

    kind: Literal["random"] = field(default="random", kw_only=True)

    def _raw(self, h: Float[Tensor, "N r D"]) -> Float[Tensor, "D D"]:
        flat = h.flatten(0, 1)
        return flat.T @ flat / self.width

    def pieces(self, h: Float[Tensor, "N r D"]) -> Iterator[Float[Tensor, "k D"]]:
        yield h.flatten(0, 1) / math.sqrt(self.width)


@dataclass(frozen=True)
class Sampled(ReadOut):
    """A read-out of the outputs of the networks themselves: nothing is integrated."""

    kind: Literal["sampled"] = field(default="sampled", kw_only=True)

    @property
    def _own_rank(self) -> int:
        return 1

    def _raw(self, h: Float[Tensor, "N ..."]) -> Float[Tensor, "D D"]:
        flat = h.flatten(1)
        return flat.T @ flat


@dataclass(frozen=True)
class JacobianProducts(ReadOut):
    """A read-out of products J w of each network's Jacobian with several Gaussian w."""

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
    """sum_d K[p + d, q + d] over the kernel's offsets d, zero outside the grid.

    One axis after the other, for the offsets are a product of those of each axis.
    """
    total, axes = k.reshape(spatial * 2), len(spatial)
    for axis, (size, reach) in enumerate(zip(spatial, (n // 2 for n in kernel), strict=True)):
        if not reach:
            continue
        grid, total = total, total.copy()
        for d in range(1, min(reach, size - 1) + 1):
            ahead, behind = slice(d, None), slice(None, -d)
            for to, of in ((ahead, behind), (behind, ahead)):
                total[_both(to, axis, axes)] += grid[_both(of, axis, axes)]
    return total.reshape(k.shape)


def _both(part: slice, axis: int, axes: int) -> tuple[slice, ...]:
    """An index of pairs of places, each on a grid of `axes` axes: a part of one axis in both."""
    place = tuple(part if own == axis else slice(None) for own in range(axes))
    return place + place


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
