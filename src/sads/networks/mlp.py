"""A multilayer perceptron on flattened input. With a linear read-out its geometry is isotropic."""

import itertools
import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import InputError
from .base import ScoreNetwork
from .layers import timestep_embedding

TIME_FEATURES = 32


class MLP(ScoreNetwork):
    """Noise-predicting MLP with the timestep's features appended to its input.

    Args:
        shape: any shape; it is flattened.
        width: hidden width.
        depth: hidden layers.
    """

    readout = "dense"

    def __init__(self, shape: Sequence[int], *, width: int = 256, depth: int = 3):
        super().__init__(shape)
        if min(width, depth) < 1:
            raise InputError(f"width and depth of an MLP start at 1, got {width} and {depth}")
        widths = [math.prod(self.shape) + TIME_FEATURES] + [width] * depth
        self.hidden: nn.ModuleList = nn.ModuleList(
            nn.Linear(a, b) for a, b in itertools.pairwise(widths)
        )
        self.head: nn.Module = nn.Linear(width, math.prod(self.shape))

    def features(self, x: Tensor, t: Tensor) -> Tensor:
        """What the read-out reads: (N, *shape), (N,) to (N, width)."""
        h = torch.cat([x.flatten(1), timestep_embedding(t.to(x.dtype), TIME_FEATURES)], dim=1)
        for layer in self.hidden:
            h = F.silu(layer(h))
        return h

    def arrange(self, z: Tensor) -> Tensor:
        return z.view(-1, *self.shape)
