"""How a module wants to be called, according to the signature of its `forward`.

The first argument is the input. The time is the argument with a name of `TIMES`; if there is none,
it is the second positional argument, whatever its name: `labels`, `cond`, `y`. If the first
argument has such a name and the second has not, their order is reversed: `forward(t, x)`. The other
arguments get the null condition (`null_conditions`).
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from .arrangements import Arrangement
from .conditions import Condition
from .diffusers_inputs import arrangement_of, needs_float_time, particular_conditions
from .null_conditions import LABELS, null_conditions

TIMES = (
    *("t", "timestep", "timesteps", "time", "times", "time_step", "time_steps", "time_cond"),
    *("diffusion_step", "diffusion_steps", "noise_labels", "noise_level", "sigma", "timestep_img"),
    *("c_noise", "log_snr", "logsnr"),
)
INPUTS = (
    *("x", "xt", "x_t", "z", "sample", "input", "inputs", "state", "y", "noisy", "x_noisy"),
    *("img", "image", "images", "latent", "latents", "z_t", "zt", "hidden_states", "data"),
)


@dataclass(frozen=True)
class Convention:
    """How a module wants to be called.

    Attributes:
        time: name of the argument of the timestep; None if the signature does not show it.
        by_keyword: whether the timestep is passed by that name; otherwise by position.
        time_first: whether its position is before the input.
        input_by_keyword: whether the input is passed by its name.
        alone: whether the input is the only argument.
        sigma: whether it takes noise levels of the variance-exploding process.
        input: name of the argument of the input; None if the signature does not show it.
        conditions: what is passed besides input and time.
        arrangement: how the input is laid out.
        whole: whether timesteps are passed as whole numbers; otherwise as floats of equal value.
    """

    time: str | None
    by_keyword: bool
    time_first: bool
    sigma: bool
    input: str | None = None
    conditions: tuple[Condition, ...] = ()
    arrangement: Arrangement = Arrangement()
    whole: bool = True
    input_by_keyword: bool = False
    alone: bool = False

    @property
    def passed(self) -> tuple[str, ...]:
        """Names of the arguments that are passed besides the input."""
        given = (self.time, *(one.name.partition(".")[0] for one in self.conditions))
        return tuple(dict.fromkeys(name for name in given if name))


def arguments_of(network: nn.Module) -> list[inspect.Parameter]:
    """The arguments of `forward` without `*args` and `**kwargs`; none if it has no signature."""
    return [p for p in all_arguments(network) if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def all_arguments(network: nn.Module) -> list[inspect.Parameter]:
    """The arguments of `forward`; none if it has no signature."""
    try:
        return list(inspect.signature(network.forward).parameters.values())
    except (TypeError, ValueError):  # compiled modules may have none
        return []


def convention_of(network: nn.Module) -> Convention:
    """How a module wants to be called."""
    arguments = arguments_of(network)
    positional = [p for p in arguments if p.kind is not p.KEYWORD_ONLY]
    time = _time(arguments, positional)
    time_first = time is not None and len(positional) > 1 and time is positional[0]
    taken = positional[1] if time_first else _input(arguments, positional, time)
    rest = [p for p in arguments if p is not time and p is not taken]
    names = {p.name for p in rest}
    usual = null_conditions(network, rest)
    particular = tuple(particular_conditions(network, names))
    own = {one.name for one in particular}
    return Convention(
        time.name if time else None,
        time is not None and not time_first and _by_keyword(time, positional),
        time_first,
        time is not None and time.name == "sigma",
        taken.name if taken else None,
        (*(one for one in usual if one.name not in own), *particular),
        arrangement_of(network, names),
        not needs_float_time(network),
        taken is not None and taken not in positional,
        len(arguments) == 1 and arguments == all_arguments(network),
    )


def _input(
    arguments: Sequence[inspect.Parameter],
    positional: Sequence[inspect.Parameter],
    time: inspect.Parameter | None,
) -> inspect.Parameter | None:
    """The argument of the input: the first positional one, or a keyword with a usual name."""
    if positional or not arguments:
        return positional[0] if positional else None
    others = [p for p in arguments if p is not time]
    return next((p for p in others if p.name in INPUTS), others[0] if others else None)


def _time(
    arguments: Sequence[inspect.Parameter], positional: Sequence[inspect.Parameter]
) -> inspect.Parameter | None:
    """The argument of the time."""
    named = [p for p in arguments if p.name in TIMES]
    if named and (len(arguments) > 1 or not positional):
        first, *others = named
        return others[0] if others and first is arguments[0] and positional else first
    if len(positional) > 1:
        return positional[1]
    needed = [p for p in arguments[1:] if p.default is p.empty and p.name not in LABELS]
    return needed[0] if needed else None


def _by_keyword(time: inspect.Parameter, positional: Sequence[inspect.Parameter]) -> bool:
    if time.name in TIMES:
        return time.kind is not time.POSITIONAL_ONLY
    return time not in positional
