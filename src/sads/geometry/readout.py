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
"""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from ..directions import Structure
from ..networks import ScoreNetwork


@dataclass(frozen=True)
class ReadOut:
    """What is accumulated over networks, and how it becomes the factor.

    Args:
        kind: `convolution`, `tokens`, `dense` or `sampled`.
        shape: shape of one sample.
        width: features at each position or token.
        weight_variance: s_w^2.
        bias_variance: s_b^2.
        kernel: kernel size of a convolution.
        patch: side of a patch for tokens.
    """

    kind: str
    shape: tuple[int, ...]
    width: int = 1
    weight_variance: float = 1.0
    bias_variance: float = 0.0
    kernel: tuple[int, ...] = ()
    patch: int = 1

    @property
    def structure(self) -> Structure:
        """The structure of the geometry that this last layer imposes."""
        kinds = {"convolution": "channels", "tokens": "tokens", "dense": "isotropic"}
        return Structure(kinds.get(self.kind, "dense"), self.shape, self.patch)

    @property
    def rank(self) -> int:
        """Rank that one network contributes to the factor."""
        rows = self.structure.rows
        ranks = {"convolution": self.width * math.prod(self.kernel), "tokens": self.width}
        return min(rows, 1 if self.kind == "sampled" else ranks.get(self.kind, rows))

    def moment(self, h: Float[Tensor, "N ..."]) -> Float[Tensor, "n n"]:
        """Sum over networks of the second moment of the features, in float64."""
        h = h.double()
        match self.kind:
            case "convolution":
                flat = h.flatten(2).flatten(0, 1)
                return flat.T @ flat
            case "tokens":
                flat = h.transpose(0, 1).flatten(1)
                return flat @ flat.T
            case "dense":
                return h.square().sum().view(1, 1)
            case _:
                flat = h.flatten(1)
                return flat.T @ flat

    def factor(self, moment: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
        """The factor from the mean moment of one network."""
        if self.kind == "convolution":
            moment = sum_over_offsets(moment, self.shape[1:], self.kernel)
        return self.weight_variance * moment + self.bias_variance


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


def sampled(shape: tuple[int, ...]) -> ReadOut:
    """No integration: outer products of outputs."""
    return ReadOut("sampled", shape)


def readout_of(network: ScoreNetwork) -> ReadOut:
    """The read-out of one of our networks, from its last layer and declared initialisation."""
    kind, head = network.readout, network.head
    if kind == "sampled":
        return sampled(network.shape)
    distributions = network.distributions()
    weight = distributions["head.weight"].variance
    bias = distributions["head.bias"].variance
    if isinstance(head, (nn.Conv1d, nn.Conv2d)):
        kernel = tuple(int(k) for k in head.kernel_size)
        return ReadOut(kind, network.shape, head.in_channels, weight, bias, kernel)
    width = int(network.get_parameter("head.weight").shape[1])
    patch = int(getattr(network, "patch", 1))
    return ReadOut(kind, network.shape, width, weight, bias, patch=patch)
