"""What a network is taken for: nothing in a module proves it, so it is said with every result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ...path import Schedule
from ..isolation import global_state_kept
from .calls import Adapted, first_channels, tensor_in
from .convention import TEXT
from .hints import hints_of


@dataclass(frozen=True)
class Assumptions:
    """What a network is taken to predict, and how it is called.

    Attributes:
        prediction: `eps`, `v` or `x0`.
        process: `variance-preserving`, or `variance-exploding` for modules that take sigma.
        schedule: kind of the noise schedule.
        steps: noise levels of the schedule.
        time: name of the argument that gets the time.
        passed_by: `keyword` or `position`.
        time_from: the least time that is passed.
        time_to: the largest.
        time_dtype: its type, `int64` for whole timesteps.
        inputs: what else is passed, by the name of the argument, in words.
        output: where the prediction is read from, in words.
        hints: what speaks against some of this, in words.
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


@torch.no_grad()
def assumptions_of(
    member: nn.Module, schedule: Schedule, x: Tensor, t: Tensor, name: str = ""
) -> Assumptions:
    """What a network of a family is taken for, told by one call of it.

    Args:
        member: the network as the family makes it.
        schedule: of the family.
        x: an input, (1, *shape).
        t: its timestep, (1,).
        name: of the family, for hints.
    """
    last = schedule.steps - 1
    if not isinstance(member, Adapted):  # ours
        return Assumptions(
            *("eps", "variance-preserving", schedule.kind, schedule.steps),
            *("t", "position", 0, last, "int64"),
        )
    with global_state_kept(), torch.no_grad():
        output = member.call(x, t)
    how = member.convention
    times = member.get_buffer("sigma") if how.sigma else torch.tensor([0, last])
    return Assumptions(
        prediction=member.prediction,
        process="variance-exploding" if how.sigma else "variance-preserving",
        schedule=schedule.kind,
        steps=schedule.steps,
        time=how.time or "second argument",
        passed_by="keyword" if how.by_keyword else "position",
        time_from=float(times[0]),
        time_to=float(times[-1]),
        time_dtype=str(times.dtype).removeprefix("torch."),
        inputs=_inputs(member),
        output=_reading(output, x),
        hints=hints_of(member.network, how, member.prediction, name),
    )


def _inputs(member: Adapted) -> dict[str, str]:
    """What is passed beside input and time, in words."""
    inputs = {}
    how = member.convention
    if how.label is not None:
        meaning = " (null)" if how.label.null else ""
        inputs[how.label.name] = f"{how.label.value}{meaning}"
    if how.text_width is not None:
        inputs[TEXT] = f"zeros of width {how.text_width}"
    return inputs


def _reading(output: Any, x: Tensor) -> str:
    """Where the prediction is read from, in words."""
    inner = tensor_in(output)
    if isinstance(output, Tensor):
        where = "tensor"
    elif hasattr(output, "sample"):
        where = "`.sample`"
    elif isinstance(output, Mapping):
        where = "the key sample"
    else:
        where = f"the first of {len(output)}"
    halved = first_channels(inner, x)
    if isinstance(inner, Tensor) and halved.shape != inner.shape:
        half = f"the first {halved.shape[1]} of {inner.shape[1]} channels"
        return half if where == "tensor" else f"{half} of {where}"
    return where
