"""A family of score networks: how to make one, on what shape, on which path from data to noise.

`ScoreFamily.member` is the one way to make a network, and `ScoreFamily.fingerprint` the one name of
a family. Both are about the network as it is adapted to predict noise (`adapters`), never about the
module that a factory returns. So every geometry, rotation and training of a family holds the same
name for it; where a geometry's zero layers were redrawn, it is that of the redrawn family (see
`inspection.zero_outputs`).
"""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import nn

from ..errors import InputError, NetworkError, SadsError, brief, is_memory_error
from ..foundation.sibling_imports import Housed
from ..path import DiffusionPath, RectifiedFlow, Schedule, prediction_named, time_values
from .adapters import Assumptions, Calling, adapt, assumptions_of
from .adapters.explain import why_not_called
from .base import ScoreNetwork
from .isolation import seeded, seeded_as_before

MEMBER = "a network of a family"  # the stream that it is drawn from
#: The path of a family that is given none. It is recognised by identity: a family that predicts the
#: velocity of a flow then gets the path of a flow.
UNTOLD: DiffusionPath = Schedule()


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
        schedule: the path from data to noise that the networks are meant for; the linear
            schedule unless given, or a rectified flow for `prediction="flow"`.
        name: how the family is called in reports.
        training: how its networks are trained unless told otherwise.
        prediction: what they predict: `eps`, `v`, `x0`, `flow` (the velocity eps - x_0) or
            `score`; by default x0 for modules that take `sigma`, else eps.
        time: what they are given: `index`, `unit`, `thousand`, `sigma` or `log-sigma`; by default
            sigma for modules that take `sigma`, unit on a flow, else index.
        reverse: whether their time runs from noise to data, and a velocity is x_0 - eps.
        calling: what their user states about how they are called; the signature tells the rest.

    >>> import sads
    >>> from torch import nn
    >>> class Network(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = nn.Conv2d(1, 1, 3, padding=1)
    ...     def forward(self, x, t):
    ...         return self.layer(x)
    >>> family = sads.ScoreFamily(Network, (1, 4, 4), name="mine")
    >>> sads.estimate_geometry(family, networks=24, probe="gaussian:1")
    Geometry(mine, 1x4x4, 24 networks, ...)
    """

    factory: Callable[[], Any]
    shape: tuple[int, ...]
    schedule: DiffusionPath = UNTOLD
    name: str = "network"
    training: Training = Training()
    prediction: str | None = None
    time: str | None = None
    reverse: bool = False
    calling: Calling | None = None

    def __post_init__(self) -> None:
        if self.prediction == "flow" and self.schedule is UNTOLD:
            object.__setattr__(self, "schedule", RectifiedFlow())
        if not callable(self.factory):
            kind = type(self.factory).__name__
            raise InputError(f"a score family needs a callable that makes networks, got {kind}")
        if not self.shape or any(not isinstance(n, int) or n < 1 for n in self.shape):
            raise InputError(f"a shape is a tuple of positive integers, got {self.shape!r}")
        if self.prediction is not None:  # refuse what makes no sense before anything is made
            prediction_named(self.prediction, reverse=self.reverse).conversion(self.schedule)
        if self.time is not None:
            time_values(self.time, self.schedule, reverse=self.reverse)

    def member(self, seed: int) -> nn.Module:
        """A fresh network that predicts noise, a function of the seed alone."""
        return seeded(lambda: unseeded_member(self), seed, MEMBER)

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

    @cached_property
    def fingerprint(self) -> str:
        """A name for the family: 16 hexadecimal digits that its artefacts are recognised by.

        It is the digest of a member's class, shape and parameters (names, shapes, and for our
        networks the distributions they start from), and of what the member does with them. Equal
        parameters can act differently (`resampling`, `heads`), and the source of a factory can
        change. So the norm and the first entry of its output at a fixed input are part of it, to
        three digits, which are the same on every machine.
        """
        x = torch.linspace(-1, 1, self.size).view(1, *self.shape)
        with torch.inference_mode():
            member = seeded_as_before(lambda: unseeded_member(self)).eval()
            # Before the parameters are read: lazy ones are made by the first call.
            output = seeded_as_before(lambda: member(x, torch.tensor([1]))).double()
        behaviour = [f"{float(output.norm()):.2e}", f"{float(output[0].flatten()[0]):.2e}"]
        known = member.distributions() if isinstance(member, ScoreNetwork) else {}
        rows = [(n, list(p.shape), repr(known.get(n))) for n, p in member.named_parameters()]
        # A network that does not see its time yet may act alike with another one.
        told: list[Any] = [[self.time, self.reverse]] if self.time or self.reverse else []
        how = self.calling
        if how is not None and (how.label, how.guidance) != (None, None):
            told.append(["class", how.label, "guidance", how.guidance])
        text = json.dumps([type(member).__name__, list(self.shape), rows, behaviour, *told])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def guided_at(self) -> str | None:
        """The layer before which guidance combines features; None without it."""
        if self.calling is None or self.calling.guidance is None:
            return None
        one = seeded_as_before(lambda: _adapted(self)).eval()
        x = torch.linspace(-1, 1, self.size).view(1, *self.shape)
        t = torch.tensor([self.schedule.steps // 2])
        try:
            return seeded_as_before(lambda: one.layer_of_guidance(x, t))
        except SadsError:
            raise
        except Exception as error:
            raise NetworkError(why_not_called(one, x, error)) from error

    @property
    def size(self) -> int:
        """D, the number of entries of one sample."""
        return math.prod(self.shape)


def unseeded_member(family: ScoreFamily) -> nn.Module:
    """A fresh network that predicts noise, drawn from the global generators as they stand.

    Internal: for those who watch a network while it is made, or whose stored results come from a
    stream of their own. Everybody else calls `ScoreFamily.member`.

    Raises:
        NetworkError: if the factory fails or exits.
    """
    return _adapted(family, family.guided_at)


def _adapted(family: ScoreFamily, guided_at: str | None = None) -> Any:
    try:
        made = family.factory()
    except SadsError:
        raise
    except (Exception, SystemExit) as error:
        if is_memory_error(error):
            raise
        raise NetworkError(f"the factory of {family.name} failed: {brief(error)}") from error
    return adapt(
        made,
        family.name,
        family.schedule,
        family.prediction,
        time=family.time,
        reverse=family.reverse,
        calling=family.calling,
        guided_at=guided_at,
    )
