"""A few networks of a family, and what is known about their initial distributions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from ..networks import ScoreFamily
from ..networks.initialisation import Constant, Distribution, Uniform

LARGEST_SMALL = 16 * 2**20  # bytes of parameters of a network that counts as small


@dataclass(frozen=True)
class Members:
    """A few networks of a family.

    Attributes:
        family: the family.
        networks: at least two of its networks, in eval mode, without gradients.
        known: the initial distribution of each parameter; None if it is not known.
    """

    family: ScoreFamily
    networks: list[nn.Module]
    known: dict[str, Distribution | None]

    @property
    def small(self) -> bool:
        """Whether it is cheap to build, evaluate and draw many networks at once."""
        return self.size <= LARGEST_SMALL

    @property
    def size(self) -> int:
        """Bytes of one network's parameters."""
        return parameter_bytes(self.networks[0])


def parameter_bytes(network: nn.Module) -> int:
    """Bytes of a network's parameters."""
    return sum(p.numel() * p.element_size() for p in network.parameters())


def follow(networks: Sequence[nn.Module], declared: Mapping[str, Distribution]) -> bool:
    """Whether the range and variance of parameters agree with their distributions."""
    for name, expected in declared.items():
        values = torch.cat([m.get_parameter(name).detach().flatten() for m in networks])
        if isinstance(expected, Constant):
            if bool((values != torch.full_like(values, expected.value)).any()):
                return False
            continue
        values = values.double()
        if bool((values == values[0]).all()) and len(values) > 1:
            return False
        if isinstance(expected, Uniform) and float(values.abs().max()) > expected.bound * 1.0001:
            return False
        # A sample variance has a deviation of at most sqrt(2/n); chance does not reach seven times.
        spread = 7 * math.sqrt(2 / len(values))
        if spread < 1 and abs(float(values.square().mean()) / expected.variance - 1) > spread:
            return False
    return True
