"""A family of score networks: how to make one, on what shape, under which noise schedule."""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from ..devices import is_memory_error
from ..errors import InputError, NetworkError, SadsError, brief
from ..neighbours import Housed
from ..path import Schedule
from .adapters import Assumptions, adapt, assumptions_of
from .adapters.explain import why_not_called
from .base import ScoreNetwork
from .isolation import seeded, seeded_as_before

MEMBER = "a network of a family"  # the stream that it is drawn from


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
        factory: a callable without arguments that returns a fresh module; its `forward(x, t)`
            takes x (N, *shape) and timesteps t (N,); see `adapters` for the variants of it.
        shape: shape of one sample: (C, H, W), (C, length) or (D,).
        schedule: the noise schedule the networks are meant for.
        name: how the family is called in reports.
        training: how its networks are trained unless told otherwise.
        prediction: what they predict: `eps`, `v` or `x0`; by default x0 for modules that take
            `sigma`, else eps.
    """

    factory: Callable[[], Any]
    shape: tuple[int, ...]
    schedule: Schedule = field(default_factory=Schedule)
    name: str = "network"
    training: Training = Training()
    prediction: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.factory):
            kind = type(self.factory).__name__
            raise InputError(f"a score family needs a callable that makes networks, got {kind}")
        if not self.shape or any(not isinstance(n, int) or n < 1 for n in self.shape):
            raise InputError(f"a shape is a tuple of positive integers, got {self.shape!r}")

    def member(self, seed: int) -> nn.Module:
        """A fresh network that predicts noise, a function of the seed alone."""
        return seeded(self.build, seed, MEMBER)

    def build(self) -> nn.Module:
        """A fresh network that predicts noise, drawn from the global generators.

        Raises:
            NetworkError: if the factory fails, or wants to leave.
        """
        try:
            made = self.factory()
        except SadsError:
            raise
        except (Exception, SystemExit) as error:
            if is_memory_error(error):
                raise
            raise NetworkError(f"the factory of {self.name} failed: {brief(error)}") from error
        return adapt(made, self.name, self.schedule, self.prediction)

    def housed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """A callable that finds the neighbours of the factory's file while it runs.

        The compiler of torch looks the modules of what it compiles up by name.
        """
        if not isinstance(self.factory, Housed):
            return call
        return Housed(call, self.factory.neighbourhood)

    def assumptions(self, member: nn.Module) -> Assumptions:
        """What the family's networks are taken for, told by one call of a member.

        Raises:
            NetworkError: if it cannot be called so.
        """
        x, t = torch.zeros(1, *self.shape), torch.tensor([self.schedule.steps // 2])
        training = member.training
        try:
            return assumptions_of(member.eval(), self.schedule, x, t, self.name)
        except Exception as error:
            if is_memory_error(error):
                raise
            raise NetworkError(why_not_called(member, x, error)) from error
        finally:
            member.train(training)

    def fingerprint(self, member: nn.Module) -> str:
        """Digest of the parameters of a member, how they start, and what it does with them.

        Equal parameters can act differently (`resampling`, `heads`), and a factory's source can
        change, so the output of a seeded member at a fixed input is part of the digest, rounded
        to what is the same on every machine.
        """
        known = member.distributions() if isinstance(member, ScoreNetwork) else {}
        rows = [(n, list(p.shape), repr(known.get(n))) for n, p in member.named_parameters()]
        text = json.dumps([type(member).__name__, list(self.shape), rows, self._behaviour()])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _behaviour(self) -> list[str]:
        """Norm and mean of a seeded member's output at a fixed input, to three digits."""
        x = torch.linspace(-1, 1, self.size).view(1, *self.shape)
        with torch.inference_mode():
            member = seeded_as_before(self.build).eval()
            output = seeded_as_before(lambda: member(x, torch.tensor([1]))).double()
        return [f"{float(output.norm()):.2e}", f"{float(output[0].flatten()[0]):.2e}"]

    @property
    def size(self) -> int:
        """D, the number of entries of one sample."""
        return math.prod(self.shape)
