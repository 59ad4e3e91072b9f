"""Why a call failed: what was passed, what the signature asks for, and the lines to write."""

import inspect
from typing import Any

from torch import Tensor, nn

from ...errors import brief
from .calls import Adapted, module_inside
from .conditions import code_of
from .convention import Convention, arguments_of
from .null_conditions import POOLED, TEXTS

SHOWN = 12  # arguments of a signature
CONDITIONS = (*TEXTS, *POOLED, "added_cond_kwargs", "cond", "y")
PLACE = "write in the factory's file (TOML beside it does as well)"


def why_not_called(member: nn.Module, x: Tensor, error: Exception) -> str:
    """One line about a call that failed.

    Args:
        member: the network as its family makes it.
        x: the input, (N, *shape).
        error: what the module raised.
    """
    network = module_inside(member)
    kind = type(network).__name__
    said = (
        f"{kind} cannot take an input of shape {tuple(x.shape[1:])} and a timestep: "
        f"{brief(error)}; it was called as {_call(member)}, and its signature is "
        f"{_signature(network)}"
    )
    if not isinstance(member, Adapted):
        return said
    if _timeless(network):
        return f"{said}; {_wrapper()}"
    missing = _missing(member, error)
    return f"{said}; {_lines(member, missing)}" if missing else said


def why_not_read(member: nn.Module, output: Any, x: Tensor) -> str:
    """One line about an output that has not the layout of the input.

    Args:
        member: the network as its family makes it.
        output: what was read of what it returned.
        x: the input, (N, *shape).
    """
    if not isinstance(member, Adapted) or member.calling.unpatchify is not None:
        return ""
    shape = f"{tuple(output.shape)} " if isinstance(output, Tensor) else ""
    return (
        "; tried: the tensor itself, the parts of objects, dictionaries, lists and tuples, half of "
        f"the channels, channels last. {PLACE}: `def unpatchify(output, x):` | "
        f"`    return ...  # what the network returned, {shape}here, as {tuple(x.shape)}`"
    )


def _timeless(network: nn.Module) -> bool:
    """Whether `forward` takes the input alone."""
    kinds = [p.kind for p in inspect.signature(network.forward).parameters.values()]
    return kinds in ([inspect.Parameter.POSITIONAL_OR_KEYWORD], [inspect.Parameter.POSITIONAL_ONLY])


def _call(member: nn.Module) -> str:
    """The call as it was made."""
    if not isinstance(member, Adapted):
        return "forward(x, t)"
    how = member.convention
    given = [_time(how), "x"] if how.time_first else ["x", _time(how)]
    return f"forward({', '.join([*given, *_conditions(member)])})"


def _time(how: Convention) -> str:
    return f"{how.time}=t" if how.by_keyword else "t"


def _conditions(member: Adapted) -> list[str]:
    """What is found or stated beside input and time, as it is passed."""
    written = code_of(member.convention.conditions) | code_of(member.calling.conditions)
    if member.calling.inputs is not None:
        return [*(f"{name}={code}" for name, code in written.items()), "**inputs(x, t)"]
    return [f"{name}={code}" for name, code in written.items()]


def _signature(network: nn.Module) -> str:
    """The arguments without their annotations."""
    arguments = arguments_of(network)
    shown = [
        p.name if p.default is p.empty else f"{p.name}={_default(p.default)}"
        for p in arguments[:SHOWN]
    ]
    more = [f"and {len(arguments) - SHOWN} more"] if len(arguments) > SHOWN else []
    return f"forward({', '.join(shown + more)})"


def _default(value: Any) -> str:
    return repr(value) if isinstance(value, (bool, int, float, str, type(None))) else "..."


def _missing(member: Adapted, error: Exception) -> list[str]:
    """Arguments that the module seems to need and did not get."""
    arguments = arguments_of(member.network)
    stated = {one.name.partition(".")[0] for one in member.calling.conditions}
    taken = {*member.convention.passed, *stated, *(p.name for p in arguments[:1])}
    if member.convention.time_first:
        taken.add(arguments[1].name)
    left_out = [p for p in arguments if p.name not in taken]
    needed = [p.name for p in left_out if p.default is inspect.Parameter.empty]
    if "None" in str(error):
        empty = [p.name for p in left_out if p.default is None]
        needed += [name for name in empty if name in CONDITIONS] or empty[:3]
    return needed


def _lines(member: Adapted, missing: list[str]) -> str:
    """The lines that pass what is missing."""
    given = ", ".join(f'"{name}": {_zeros(name)}' for name in missing)
    if member.calling.inputs is not None:
        return f"let your `inputs(x, t)` also return {{{given}}}"
    return f"{PLACE}: `def inputs(x, t):` | `    return {{{given}}}`"


def _wrapper() -> str:
    """The lines for a module that takes no time."""
    return (
        "it takes no time: wrap it in a module of your own and name its factory: "
        "`class Wrapped(nn.Module):` | `    def __init__(self): super().__init__(); "
        "self.net = make()` | `    def forward(self, x, t): return self.net(x)`"
    )


def _zeros(name: str) -> str:
    """A condition of zeros, whose width nothing tells."""
    return f"x.new_zeros(len(x), {'1, ' if name in TEXTS else ''}WIDTH)"
