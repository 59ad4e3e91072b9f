"""A family of score networks: how to make one, on what shape, under which noise schedule."""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from torch import nn

from ..errors import InputError
from ..schedule import Schedule
from .base import ScoreNetwork


@dataclass(frozen=True)
class Training:
    """How a network is trained unless told otherwise; the default is that of rank-one data."""

    batch_size: int = 1000
    iterations: int = 2_000
    learning_rate: float = 1e-4


@dataclass(frozen=True)
class ScoreFamily:
    """Networks that differ only in their initialisation.

    Args:
        factory: a callable without arguments that returns a fresh module; its
            `forward(x, t)` predicts the noise in x (N, *shape) at timesteps t (N,).
        shape: shape of one sample: (C, H, W), (C, length) or (D,).
        schedule: the noise schedule the networks are meant for.
        name: how the family is called in reports.
        training: how its networks are trained unless told otherwise.
    """

    factory: Callable[[], nn.Module]
    shape: tuple[int, ...]
    schedule: Schedule = field(default_factory=Schedule)
    name: str = "network"
    training: Training = Training()

    def __post_init__(self) -> None:
        if not callable(self.factory):
            kind = type(self.factory).__name__
            raise InputError(f"a score family needs a callable that makes networks, got {kind}")
        if not self.shape or any(not isinstance(n, int) or n < 1 for n in self.shape):
            raise InputError(f"a shape is a tuple of positive integers, got {self.shape!r}")

    def fingerprint(self, member: nn.Module) -> str:
        """Digest of what the parameters of a member are and how they start."""
        known = member.distributions() if isinstance(member, ScoreNetwork) else {}
        rows = [(n, list(p.shape), repr(known.get(n))) for n, p in member.named_parameters()]
        text = json.dumps([type(member).__name__, list(self.shape), rows])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def size(self) -> int:
        """D, the number of entries of one sample."""
        return math.prod(self.shape)
