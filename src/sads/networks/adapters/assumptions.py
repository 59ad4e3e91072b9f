"""What is assumed about a network: no module proves it, so every result states it."""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from ...path import DiffusionPath
from ..isolation import global_state_kept
from .calls import SIGMA, Adapted
from .hints import hints_of


@dataclass(frozen=True)
class Assumptions:
    """What a network is assumed to predict, and how it is called.

    Attributes:
        prediction: `eps`, `v`, `x0`, `flow` or `score`.
        process: the process of the input: `variance-exploding` for modules that take sigma, else
            that of the path: `variance-preserving`, `rectified flow` or `variance-exploding`.
        schedule: the kind of the path.
        steps: the number of its noise levels.
        time: name of the argument that gets the time.
        passed_by: `keyword` or `position`.
        time_from: the smallest time that is passed.
        time_to: the largest.
        time_dtype: its type, `int64` for whole timesteps.
        inputs: what else is passed, by the name of the argument, in words.
        output: where the prediction is read from, in words.
        hints: what speaks against some of this, in words.
        time_kind: the form of the time, see `sads.path.times`; None in older files.
        reverse: whether time runs from noise to data.
        parameters: parameters of the path that are not at their defaults.
    """

    prediction: str
    process: str
    schedule: str
    steps: int
    time: str
    passed_by: str
    time_from: float
    time_to: float
    time_dtype: str
    inputs: dict[str, str] = field(default_factory=dict)
    output: str = "tensor"
    hints: tuple[str, ...] = ()
    time_kind: str | None = None
    reverse: bool = False
    parameters: dict[str, float] = field(default_factory=dict)


@torch.no_grad()
def assumptions_of(
    member: nn.Module, schedule: DiffusionPath, x: Tensor, t: Tensor, name: str = ""
) -> Assumptions:
    """What is assumed about a network of a family, determined by one call of it.

    Args:
        member: the network as the family makes it.
        schedule: the path of the family.
        x: an input, (1, *shape).
        t: its timestep, (1,).
        name: the name of the family, for hints.
    """
    last = schedule.steps - 1
    if not isinstance(member, Adapted):  # ours
        return Assumptions(
            *("eps", schedule.process, schedule.kind, schedule.steps),
            *("t", "position", 0, last, "int64"),
            time_kind="index",
            parameters=dict(schedule.parameters),
        )
    with global_state_kept(), torch.no_grad():
        output = member.call(x, t)
    how, where = member.convention, member.prediction_of(output, x).where
    times = member.times_at(torch.tensor([0, last]), x)
    scaled = member.time == SIGMA
    return Assumptions(
        prediction=member.prediction,
        process="variance-exploding" if scaled else schedule.process,
        schedule=schedule.kind,
        steps=schedule.steps,
        time=how.time or "second argument",
        passed_by="keyword" if how.by_keyword else "position",
        time_from=float(times.min()),
        time_to=float(times.max()),
        time_dtype=str(times.dtype).removeprefix("torch."),
        inputs=_inputs(member, x, t),
        output=where,
        hints=hints_of(member, name, where),
        time_kind=member.time,
        reverse=member.reverse,
        parameters=dict(schedule.parameters),
    )


def _inputs(member: Adapted, x: Tensor, t: Tensor) -> dict[str, str]:
    """What is passed besides input and time, and how the input is laid out, in words."""
    how = member.convention
    known = {one.name: one.words for one in how.conditions}
    stated = member.calling.words(*member.seen(x, t))
    stated |= {one.name: one.words for one in member.condition}
    if (scale := member.calling.guidance) is not None:
        against = {n: f" against {w}" for n, w in known.items() if n in stated}
        stated = {n: f"{w}, guidance {scale:g}{against.get(n, '')}" for n, w in stated.items()}
    arguments = {name.partition(".")[0] for name in stated}
    passed = {n: words for n, words in known.items() if n.partition(".")[0] not in arguments}
    laid = {how.input or "input": how.arrangement.words} if how.arrangement.words else {}
    return laid | passed | stated
