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
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..directions import Structure
from ..networks import ScoreNetwork

READOUTS = ("convolution", "tokens", "dense", "random", "sampled")


@dataclass(frozen=True)
class ReadOut:
    """What is accumulated over networks, and how it becomes the factor.

    Args:
        kind: `convolution`, `tokens`, `dense`, `random` or `sampled`. The last two hold outputs:
            of the network itself, or of several random last layers on its features.
        shape: shape of one sample.
        width: features at each position or token; random last layers for each network.
        weight_variance: s_w^2.
        bias_variance: s_b^2.
        kernel: kernel size of a convolution.
        patch: side of a patch for tokens.
        arrangement: kind of the structure, where the kind of the last layer does not tell it.
        floor: the multiple of the identity that the constant part of the output adds.
        constant: whether the constant part of the output is accumulated.
        settled: whether biases are added batch by batch, because each network's share of them is
            its own.
    """

    kind: str
    shape: tuple[int, ...]
    width: int = 1
    weight_variance: float = 1.0
    bias_variance: float = 0.0
    kernel: tuple[int, ...] = ()
    patch: int = 1
    arrangement: str | None = None
    floor: float = 0.0
    constant: bool = False
    settled: bool = False

    @property
    def structure(self) -> Structure:
        """The structure of what is accumulated: that which the last layer imposes on G, or none."""
        return Structure("dense", self.shape) if self.constant else self._imposed

    @property
    def _imposed(self) -> Structure:
        kinds = {"convolution": "channels", "tokens": "tokens", "dense": "isotropic"}
        kind = self.arrangement or kinds.get(self.kind, "dense")
        return Structure(kind, self.shape, self.patch)

    @property
    def spatial(self) -> tuple[int, ...]:
        """Positions of a convolution's output."""
        sides = self.shape[1:] if len(self.shape) > 1 else self.shape
        return tuple(n // self.patch for n in sides)

    @property
    def rank(self) -> int:
        """Rank that one network contributes to what is accumulated."""
        imposed = self._imposed
        ranks = {
            "convolution": self.width * math.prod(self.kernel),
            "tokens": self.width,
            "random": self.width,
            "sampled": 1,
        }
        own = min(imposed.rows, ranks.get(self.kind, imposed.rows))
        return own * imposed.copies if self.constant else own

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
        return torch.from_numpy(self._imposed.expand(linear)).to(flat.device) + flat.T @ flat

    def _raw(self, h: Float[Tensor, "N ..."]) -> Float[Tensor, "n n"]:
        match self.kind:
            case "convolution":
                flat = h.flatten(2).flatten(0, 1)
                return flat.T @ flat
            case "tokens":
                flat = h.transpose(0, 1).flatten(1)
                return flat @ flat.T
            case "dense":
                return h.square().sum().view(1, 1)
            case "random":  # (N, width, D)
                flat = h.flatten(0, 1)
                return flat.T @ flat / self.width
            case _:
                flat = h.flatten(1)
                return flat.T @ flat

    def factor(self, moment: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
        """The factor from the mean moment of one network."""
        whole = self.constant or self.settled
        factor = moment if whole else self._integrated(moment, 1)
        return factor + self.floor * np.eye(len(factor)) if self.floor else factor

    def _integrated(self, moment: Float[np.ndarray, "n n"], count: int) -> Float[np.ndarray, "n n"]:
        """The last layer integrated over `count` networks' summed moment."""
        if self.kind == "convolution":
            moment = sum_over_offsets(moment, self.spatial, self.kernel)
        return self.weight_variance * moment + count * self.bias_variance


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
