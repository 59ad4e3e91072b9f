"""How an input is laid out for a module, and how its output is laid back.

Modules do not always take samples as (N, C, *sides): some take tokens that are patches of the
sample, frames before channels, or further channels besides the noisy ones. Each arrangement is a
permutation of entries, at most with zeros added, so it never changes what is predicted.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Arrangement:
    """The plain arrangement, which leaves the input as it is; a base class."""

    def lay_out(self, x: Tensor) -> Tensor:
        """The input of the module for x (N, *shape)."""
        return x

    def lay_back(self, output: Any, x: Tensor) -> Any:
        """An output in the layout of x; an output that does not fit is left as it is."""
        return output

    @property
    def words(self) -> str:
        """What is done to the input, in words; empty for nothing."""
        return ""


@dataclass(frozen=True)
class Packed(Arrangement):
    """Tokens (N, tokens, C * patch entries), as Flux takes them.

    Attributes:
        patch: sides of a patch, one for each axis of the sample.
    """

    patch: tuple[int, ...]

    def lay_out(self, x: Tensor) -> Tensor:
        split = [part for n, p in self._pairs(x) for part in (n // p, p)]
        axes = len(self.patch)
        grid, inside = range(2, 2 + 2 * axes, 2), range(3, 3 + 2 * axes, 2)
        cut = x.reshape(*x.shape[:2], *split).permute(0, *grid, 1, *inside)
        return cut.reshape(len(x), self.tokens(x), -1)

    def lay_back(self, output: Any, x: Tensor) -> Any:
        if not isinstance(output, Tensor) or output.ndim != 3 or output.shape[1] != self.tokens(x):
            return output
        axes, patch = len(self.patch), self.patch
        grid = [n // p for n, p in self._pairs(x)]
        cut = output.reshape(len(x), *grid, -1, *patch)
        order = [part for i in range(axes) for part in (1 + i, 2 + axes + i)]
        return cut.permute(0, 1 + axes, *order).reshape(len(x), -1, *x.shape[2:])

    def tokens(self, x: Tensor) -> int:
        """The number of tokens of an input."""
        return math.prod(n // p for n, p in self._pairs(x))

    def _pairs(self, x: Tensor) -> list[tuple[int, int]]:
        return list(zip(x.shape[2:], self.patch, strict=True))

    @property
    def words(self) -> str:
        return f"tokens of patches {'x'.join(map(str, self.patch))}"


@dataclass(frozen=True)
class FramesFirst(Arrangement):
    """Videos as (N, frames, C, H, W), where samples are (N, C, frames, H, W)."""

    def lay_out(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2)

    def lay_back(self, output: Any, x: Tensor) -> Any:
        fits = isinstance(output, Tensor) and output.ndim == x.ndim
        return output.transpose(1, 2) if fits else output

    @property
    def words(self) -> str:
        return "frames before channels"


@dataclass(frozen=True)
class Widened(Arrangement):
    """Channels of zeros after those of the sample, for example an image and a mask to paint into.

    Attributes:
        channels: the number of channels that the module takes in all.
    """

    channels: int

    def lay_out(self, x: Tensor) -> Tensor:
        more = x.new_zeros(len(x), self.channels - x.shape[1], *x.shape[2:])
        return torch.cat([x, more], dim=1)

    @property
    def words(self) -> str:
        return f"{self.channels} channels, zeros after those of the sample"
