"""Why a call failed: what was passed, what the signature asks for, and the lines to write."""

import inspect
import re
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import brief
from .calls import Adapted, module_inside
from .conditions import code_of
from .convention import Convention, all_arguments, arguments_of
from .null_conditions import POOLED, TEXTS
from .outputs import places_that_fit
from .proposals import Proposal, dictionary_for, other_layouts, patches_together, values_for

SHOWN = 12  # arguments of a signature
CONDITIONS = (*TEXTS, *POOLED, "added_cond_kwargs", "cond", "y")
PLACE = "write in the factory's file"


def why_not_called(member: nn.Module, x: Tensor, error: Exception) -> str:
    """One line about a call that failed.

    Args:
        member: the network as its family makes it.
        x: the input, (N, *shape).
        error: what the module raised.
    """
    network = module_inside(member)
    kind = type(network).__name__
    failure = (
        f"{kind} cannot take an input of shape {tuple(x.shape[1:])} and a timestep: "
        f"{brief(error)}; it was called as {_call(member)}, and its signature is "
        f"{_signature(network)}"
    )
    if not isinstance(member, Adapted):
        return failure
    advice = _advice(member, x, error)
    return f"{failure}; {advice}" if advice else failure


def _advice(member: Adapted, x: Tensor, error: Exception) -> str:
    """The lines to write, tried out where that is possible; empty if nothing is known."""
    x = x[:1].repeat(2, *(1,) * (x.ndim - 1))  # a call that works for only one input is no help
    t = torch.arange(2) + member.path.steps // 2
    if member.convention.alone and _timeless(member.network):
        proposal = dictionary_for(member, x, t)
        return _wrapper() if proposal is None else f"it takes one dictionary: {_written(proposal)}"
    missing = _missing(member, error)
    proposal = values_for(member, missing, x, t) if missing else None
    if missing and proposal is None:
        zeros = Proposal({name: _zeros(name) for name in missing})
        tried = "tried zeros like the input, vectors and tokens of its layers' widths, labels"
        return f"{tried}, and nothing fits; {_to_write(member, zeros)}"
    if not missing and member.calling.inputs is not None:
        return ""
    proposal = proposal or other_layouts(member, x, t) or values_for(member, (), x, t)
    if proposal is None and _casts_to_half(error):
        return (
            "it is read in float32, but its `forward` casts to half precision: cast to the type of "
            "its parameters there, `x.to(next(self.parameters()).dtype)`"
        )
    if proposal is None:
        # Torch itself complains of shapes: the input is wrong then, not how it is passed.
        return "" if isinstance(error, RuntimeError) else _other_layout(member)
    if member.calling.inputs is not None:
        return _to_write(member, proposal)
    return f"the call works with these lines, if they are what you mean: {_written(proposal)}"


def _casts_to_half(error: Exception) -> bool:
    """Whether torch complains of half precision beside float32."""
    return isinstance(error, RuntimeError) and bool(re.search(r"\b(Half|BFloat16)\b", str(error)))


def _other_layout(member: Adapted) -> str:
    """The lines that pass input and time in a layout that is not known; empty without names."""
    how = member.convention
    if not how.input or not how.time:
        return ""
    return (
        "tried the time as floats, as a column and for each token, the input channels last, as "
        f"tokens, flat and as a list, and nothing fits; {PLACE}: `def inputs(x, t):` | "
        f'`    return {{"{how.input}": x, "{how.time}": t}}  # x and t as it wants them`'
    )


def _to_write(member: Adapted, proposal: Proposal) -> str:
    """The lines to write, or what a function of the user should return as well."""
    if member.calling.inputs is None:
        return _written(proposal)
    return f"let your `inputs(x, t)` also return {proposal.returned}"


def _written(proposal: Proposal) -> str:
    """The lines to write, and where."""
    return f"{PLACE}: " + " | ".join(f"`{line}`" for line in proposal.lines)


def why_not_read(member: nn.Module, output: Any, x: Tensor) -> str:
    """One line about an output that does not have the layout of the input.

    Args:
        member: the network as its family makes it.
        output: the part that was read of what it returned.
        x: the input, (N, *shape).
    """
    if not isinstance(member, Adapted) or member.calling.unpatchify is not None:
        return ""
    shape = f"{tuple(output.shape)} " if isinstance(output, Tensor) else ""
    put = patches_together(output, x)
    line = f"return {put}" if put else "return ..."
    meant = "for patches with their channels last" if put else f"what the network returned, {shape}"
    return (
        "; tried: the tensor itself, the parts of objects, dictionaries, lists and tuples, half of "
        f"the channels, channels last; {PLACE}: `def unpatchify(output, x):` | "
        f"`    {line}  # {meant}{'' if put else f'here, as {tuple(x.shape)}'}`"
    )


def which_was_read(member: nn.Module, x: Tensor, t: Tensor) -> str:
    """Where a useless output was read from, if other parts fit as well; else empty."""
    if not isinstance(member, Adapted) or member.calling.unpatchify is not None:
        return ""
    with torch.no_grad():
        read, *others = places_that_fit(member.call(x, t), x) or [""]
    if not others:
        return ""
    return (
        f"; it was read from {read}, and {', '.join(others)} would fit as well: {PLACE} "
        "`def unpatchify(output, x):` | `    return output[...]  # the part that is predicted`"
    )


def _timeless(network: nn.Module) -> bool:
    """Whether `forward` takes only the input."""
    kinds = [p.kind for p in inspect.signature(network.forward).parameters.values()]
    return kinds in ([inspect.Parameter.POSITIONAL_OR_KEYWORD], [inspect.Parameter.POSITIONAL_ONLY])


def _call(member: nn.Module) -> str:
    """The call as it was made."""
    if not isinstance(member, Adapted):
        return "forward(x, t)"
    how = member.convention
    if how.input_by_keyword:
        return f"forward({', '.join([f'{how.input}=x', _time(how), *_conditions(member)])})"
    given = [_time(how), "x"] if how.time_first else ["x", _time(how)]
    return f"forward({', '.join([*given, *_conditions(member)])})"


def _time(how: Convention) -> str:
    return f"{how.time}=t" if how.by_keyword else "t"


def _conditions(member: Adapted) -> list[str]:
    """The arguments besides input and time, as they are passed."""
    written = code_of(member.convention.conditions) | code_of(member.calling.conditions)
    if member.calling.inputs is not None:
        return [*(f"{name}={code}" for name, code in written.items()), "**inputs(x, t)"]
    return [f"{name}={code}" for name, code in written.items()]


def _signature(network: nn.Module) -> str:
    """The arguments without their annotations."""
    arguments = all_arguments(network)
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    shown = [
        stars.get(p.kind, "") + p.name + ("" if p.default is p.empty else f"={_default(p.default)}")
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
    kinds = {p.kind for p in all_arguments(member.network)}
    if isinstance(error, KeyError) and inspect.Parameter.VAR_KEYWORD in kinds and error.args:
        needed.append(str(error.args[0]))
    if "None" in str(error):
        empty = [p.name for p in left_out if p.default is None]
        needed += [name for name in empty if name in CONDITIONS] or empty[:3]
    return needed


def _wrapper() -> str:
    """The lines for a module that takes no time."""
    return (
        "it takes no time: wrap it in a module of your own and name its factory: "
        "`class Wrapped(nn.Module):` | `    def __init__(self): super().__init__(); "
        "self.net = make()` | `    def forward(self, x, t): return self.net(x)`"
    )


def _zeros(name: str) -> str:
    """A condition of zeros of unknown width."""
    return f"x.new_zeros(len(x), {'1, ' if name in TEXTS else ''}WIDTH)"
