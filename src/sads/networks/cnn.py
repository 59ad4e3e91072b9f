"""A plain convolutional network: one resolution, zero padding, no normalisation."""

import itertools
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import InputError
from .base import ScoreNetwork
from .layers import CONVOLUTIONS, timestep_embedding


class CNN(ScoreNetwork):
    """Noise-predicting stack of 3-wide convolutions, the time embedding added after each.

    Args:
        shape: (C, H, W) or (C, length).
        width: channels of every hidden layer.
        depth: hidden layers.
    """

    readout = "convolution"

    def __init__(self, shape: Sequence[int], *, width: int = 32, depth: int = 4):
        super().__init__(shape)
        if len(self.shape) not in (2, 3) or width % 2 or min(width, depth) < 1:
            sizes = "x".join(map(str, self.shape))
            raise InputError(
                f"a CNN takes CxHxW or CxL, an even width and a depth from 1 on, got {sizes}, "
                f"width {width} and depth {depth}"
            )
        conv = CONVOLUTIONS[len(self.shape) - 1]
        widths = [self.shape[0]] + [width] * depth
        self.width = width
        self.layers: nn.ModuleList = nn.ModuleList(
            conv(a, b, 3, padding=1) for a, b in itertools.pairwise(widths)
        )
        self.times: nn.ModuleList = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head: nn.Module = conv(width, self.shape[0], 3, padding=1)

    def features(self, x: Tensor, t: Tensor) -> Tensor:
        """What the last convolution reads: (N, C, *S), (N,) to (N, width, *S)."""
        embedding = timestep_embedding(t.to(x.dtype), self.width)
        h = x
        for layer, time in zip(self.layers, self.times, strict=True):
            shift = time(embedding)
            h = F.silu(layer(h) + shift.view(*shift.shape, *(1,) * (x.ndim - 2)))
        return h

    @property
    def symmetries(self) -> tuple[str, ...]:
        """Zero padding and identically distributed kernels respect every reflection."""
        return ("flip", "transpose")
