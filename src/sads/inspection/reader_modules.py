"""Readers: modules around a network that return what is read in one forward pass.

A reader returns a tuple of tensors with one row for each input: the network's output, the features
h before its last layer, or, for other people's networks, also what determines the scale of that
layer. All run under `vmap`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..networks.initialisation import Distribution
from .tracing import features, in_place_of, read


class Readings(NamedTuple):
    """What was read from N networks.

    Attributes:
        h: features or outputs.
        output: outputs after the last layer's output was replaced by chosen values, if traced.
        squares: mean squares of each network's own last weight and bias, if traced.
    """

    h: Float[Tensor, "N ..."]
    output: Float[Tensor, "N ..."] | None = None
    squares: Float[Tensor, "N 2"] | None = None


class Reader(nn.Module):
    """A network and what is read from it.

    Attributes:
        draws: distributions of the reader's own parameters, which are drawn for every network.
        differentiates: whether it takes derivatives.
    """

    draws: Mapping[str, Distribution] = {}
    differentiates = False

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    @torch.no_grad()
    def renew(self, rng: np.random.Generator) -> None:
        """Draw the reader's own parameters."""
        for name, distribution in self.draws.items():
            own = self.get_parameter(name)
            own.copy_(distribution.draw(tuple(own.shape), rng))

    def forward(self, x: Tensor, t: Tensor) -> tuple[Tensor, ...]:
        """The parts of `Readings` at inputs x (N, *shape) and timesteps t (N,)."""
        raise NotImplementedError


class Outputs(Reader):
    """Reads the output of a network."""

    def forward(self, x: Tensor, t: Tensor) -> tuple[Tensor]:
        return (self.network(x, t),)


class Features(Reader):
    """Reads the features of one of our networks, before its head."""

    def forward(self, x: Tensor, t: Tensor) -> tuple[Tensor]:
        return (self.network.features(x, t),)  # pyright: ignore[reportCallIssue]


class Traced(Reader):
    """A network that is read at its last layer, for one sample; it runs under `vmap`.

    It returns the features h, the output with u replaced by chosen values, and the mean squares of
    the network's own last weight and bias.

    Args:
        network: the network.
        index: number of the call of its last layer.
        values: the values that replace u.
        late_bias: a parameter that is added after the call; it is set to zero.
    """

    def __init__(self, network: nn.Module, index: int, values: Tensor, late_bias: str | None):
        super().__init__(network)
        self.index = index
        self.register_buffer("values", values, persistent=False)
        self.late_square: float = 0.0
        if late_bias is not None:
            with torch.no_grad():
                bias = network.get_parameter(late_bias)
                self.late_square = _mean_square(bias).item()
                bias.zero_()

    def forward(self, x: Tensor, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        replaced = in_place_of(self.get_buffer("values"))
        output, call = read(self.network, x, t, self.index, replaced)
        weight = _mean_square(call.weight)
        bias = torch.full_like(weight, self.late_square)
        if call.bias is not None:
            bias = _mean_square(call.bias)
        return features(call)[None], output, torch.stack([weight, bias])[None]


def _mean_square(values: Tensor) -> Tensor:
    return values.detach().double().square().mean()
