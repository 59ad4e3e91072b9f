"""The base of every score network of this package: features, a last layer, a fixed arrangement.

    eps(x, t) = arrange(head(features(x, t)))

`head` is the last layer with parameters, `arrange` a fixed map to the shape of x. Splitting the
network there is what lets the geometry integrate the last layer exactly.
"""

import math
from collections.abc import Sequence

from torch import Tensor, nn

from ..randomness import global_stream, stream
from .initialisation import Distribution, default_distributions, initialise


class ScoreNetwork(nn.Module):
    """Base class of our networks; it predicts noise in the shape of its input."""

    head: nn.Module
    #: How `head` acts: a `convolution` over positions (stride 1, zero padding that keeps the size),
    #: on `tokens` separately, as one `dense` layer, or `sampled` if none of these is true.
    readout: str = "sampled"

    def __init__(self, shape: Sequence[int]):
        super().__init__()
        self.shape: tuple[int, ...] = tuple(int(n) for n in shape)

    @property
    def size(self) -> int:
        """D, the number of entries of one sample."""
        return math.prod(self.shape)

    @property
    def symmetries(self) -> tuple[str, ...]:
        """Reflections that leave the distribution of the network unchanged, as generators."""
        return ()

    def features(self, x: Tensor, t: Tensor) -> Tensor:
        """The input of the last layer, from x (N, *shape) and t (N,)."""
        raise TypeError(f"{type(self).__name__} does not define features")

    def arrange(self, z: Tensor) -> Tensor:
        """The fixed map from the last layer's output to (N, *shape)."""
        return z

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Predicted noise (N, *shape) for x (N, *shape) at integer timesteps t (N,)."""
        return self.arrange(self.head(self.features(x, t)))

    def distributions(self) -> dict[str, Distribution]:
        """The initial distribution of every parameter, by name."""
        return default_distributions(self)

    def reset(self, seed: int | None = None) -> None:
        """Draw fresh parameters; without a seed, from torch's global generator."""
        rng = global_stream() if seed is None else stream(seed, "parameters of one of our networks")
        initialise(self, self.distributions(), rng)
