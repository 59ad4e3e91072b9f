"""A family of score networks: how to make one, on what shape, on which path from data to noise.

`ScoreFamily.member` is the one way to make a network, and `ScoreFamily.fingerprint` the one name of
a family. Both describe the network as it is adapted to predict noise (`adapters`), never the module
that a factory returns. So every geometry, rotation and training of a family stores the same name
for it. If zero layers were redrawn for a geometry, it is the name of the redrawn family (see
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

MEMBER = "a network of a family"  # the purpose of its random stream
#: The path of a family if none is given. It is recognised by identity, so that a family that
#: predicts the velocity of a flow can get the path of a flow instead.
DEFAULT_PATH: DiffusionPath = Schedule()


@dataclass(frozen=True)
class Training:
    """How a network is trained by default; these values are for rank-one data."""

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
        name: the name of the family in reports.
        training: how its networks are trained by default.
        prediction: what they predict: `eps`, `v`, `x0`, `flow` (the velocity eps - x_0) or
            `score`; by default x0 for modules that take `sigma`, else eps.
        time: the form of time that they are given: `index`, `unit`, `thousand`, `sigma` or
            `log-sigma`; by default sigma for modules that take `sigma`, unit on a flow, else index.
        reverse: whether their time runs from noise to data, and a velocity is x_0 - eps.
        calling: what their user states about how they are called; their signature shows the rest.

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
    schedule: DiffusionPath = DEFAULT_PATH
    name: str = "network"
    training: Training = Training()
    prediction: str | None = None
    time: str | None = None
    reverse: bool = False
    calling: Calling | None = None

    def __post_init__(self) -> None:
        if self.prediction == "flow" and self.schedule is DEFAULT_PATH:
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
        """What is assumed about the family's networks, determined by one call of a member.

        Raises:
            NetworkError: if it cannot be called in this way.
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
        """A name for the family, 16 hexadecimal digits by which its artefacts are recognised.

        It is the digest of a member's class, shape and parameters (names, shapes, and for our
        networks the distributions they start from), and of what the member does with them. Equal
        parameters can act differently (`resampling`, `heads`), and the source of a factory can
        change. So it includes the norm and the first entry of the output at a fixed input, to
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
        # An untrained network may ignore its time, so its output would not show these.
        more: list[Any] = [[self.time, self.reverse]] if self.time or self.reverse else []
        how = self.calling
        if how is not None and (how.label, how.guidance) != (None, None):
            more.append(["class", how.label, "guidance", how.guidance])
        text = json.dumps([type(member).__name__, list(self.shape), rows, behaviour, *more])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def guided_at(self) -> str | None:
        """The layer before which guidance combines features; None to combine outputs, if any."""
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

    It is for code that watches a network while it is made, or whose stored results come from a
    stream of their own. All other code calls `ScoreFamily.member`.

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
