"""Why a call failed: what was passed, what the signature asks for, and the lines to write."""

import inspect
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from ...errors import brief
from .calls import Adapted, module_inside
from .convention import TEXT, Convention, arguments_of

SHOWN = 12  # arguments of a signature
CONDITIONS = (TEXT, "pooled_projections", "added_cond_kwargs", "context", "cond", "y")
#: Keys of a diffusers configuration that tell the width of a condition.
WIDTHS: Mapping[str, tuple[str, ...]] = {
    TEXT: ("joint_attention_dim", "caption_channels", "cross_attention_dim"),
    "pooled_projections": ("pooled_projection_dim",),
}


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
    missing = _missing(member, error)
    return f"{said}; {_wrapper(member, missing)}" if missing or _timeless(network) else said


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
    return f"forward({', '.join([*given, *_conditions(how)])})"


def _time(how: Convention) -> str:
    return f"{how.time}=t" if how.by_keyword else "t"


def _conditions(how: Convention) -> list[str]:
    """Labels and text as they are passed."""
    given = []
    if how.label is not None:
        given.append(f"{how.label.name}=torch.full((len(x),), {how.label.value})")
    if how.text_width is not None:
        given.append(f"{TEXT}=x.new_zeros(len(x), 1, {how.text_width})")
    return given


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
    taken = {*member.convention.passed, *(p.name for p in arguments[:1])}
    if member.convention.time_first:
        taken.add(arguments[1].name)
    left_out = [p for p in arguments if p.name not in taken]
    needed = [p.name for p in left_out if p.default is inspect.Parameter.empty]
    if "None" in str(error):
        empty = [p.name for p in left_out if p.default is None]
        needed += [name for name in empty if name in CONDITIONS] or empty[:3]
    return needed


def _wrapper(member: Adapted, missing: list[str]) -> str:
    """The lines that pass what is missing."""
    config = getattr(member.network, "config", None)
    config = config if isinstance(config, Mapping) else {}
    given = ["x"] if _timeless(member.network) else ["x", _time(member.convention)]
    given += _conditions(member.convention)
    given += [f"{name}={_zeros(name, config)}" for name in missing]
    sample = ".sample" if config else ""
    return (
        "pass the rest in a module of your own and name its factory: `class Wrapped(nn.Module):` "
        "| `    def __init__(self): super().__init__(); self.net = make()` | "
        f"`    def forward(self, x, t): return self.net({', '.join(given)}){sample}`"
    )


def _zeros(name: str, config: Mapping[str, Any]) -> str:
    """A condition of zeros, of the width that the configuration tells."""
    if name == "added_cond_kwargs":
        whole = config.get("projection_class_embeddings_input_dim")
        times = config.get("addition_time_embed_dim")
        width = whole - 6 * times if isinstance(whole, int) and isinstance(times, int) else 1280
        return (
            f'{{"text_embeds": x.new_zeros(len(x), {width}), "time_ids": x.new_zeros(len(x), 6)}}'
        )
    width = next((config[k] for k in WIDTHS.get(name, ()) if isinstance(config.get(k), int)), None)
    tokens = "1, " if name == TEXT else ""
    return f"x.new_zeros(len(x), {tokens}{width or 'WIDTH'})"
