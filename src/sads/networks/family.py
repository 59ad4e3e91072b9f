"""A family of score networks: how to make one, on what shape, under which noise schedule."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from torch import nn

from ..errors import InputError
from ..schedule import Schedule


@dataclass(frozen=True)
class ScoreFamily:
    """Networks that differ only in their initialisation.

    Args:
        factory: a callable without arguments that returns a fresh module; its
            `forward(x, t)` predicts the noise in x (N, *shape) at timesteps t (N,).
        shape: shape of one sample: (C, H, W), (C, length) or (D,).
        schedule: the noise schedule the networks are meant for.
        name: how the family is called in reports.
    """

    factory: Callable[[], nn.Module]
    shape: tuple[int, ...]
    schedule: Schedule = field(default_factory=Schedule)
    name: str = "network"

    def __post_init__(self) -> None:
        if not callable(self.factory):
            kind = type(self.factory).__name__
            raise InputError(f"a score family needs a callable that makes networks, got {kind}")
        if not self.shape or any(not isinstance(n, int) or n < 1 for n in self.shape):
            raise InputError(f"a shape is a tuple of positive integers, got {self.shape!r}")

    @property
    def size(self) -> int:
        """D, the number of entries of one sample."""
        return math.prod(self.shape)
