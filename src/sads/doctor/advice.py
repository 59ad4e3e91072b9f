"""What to change, in the words of the network at hand.

The networks of this package have fields (`groups`, `resampling`); they are named only to a network
that has them. Other people's modules are told what to change in their code, by the layer's name.
"""

import inspect

from torch import nn

from ..networks import ScoreNetwork

STRIDED = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def fields_of(module: nn.Module) -> frozenset[str]:
    """The fields that one of our networks takes; none for other people's."""
    if not isinstance(module, ScoreNetwork):
        return frozenset()
    return frozenset(inspect.signature(type(module)).parameters) - {"shape"}


def listed(names: tuple[str, ...]) -> str:
    """A few names, and how many more there are."""
    shown = ", ".join(names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def on_zero_output(module: nn.Module) -> str:
    """What to do about an output that starts at zero."""
    otherwise = "zero_init=false" if "zero_init" in fields_of(module) else "another initialisation"
    return (
        "nothing to mend for training; a geometry needs zero_output='last' "
        f"(--zero-output last), or {otherwise}"
    )


def on_zeros_in_a_row(layers: tuple[str, ...]) -> str:
    """What to do about layers that never get a gradient."""
    return (
        f"{listed(layers)} start at zero and never get a gradient, as zero layers do that feed "
        "each other: initialise all but one of them otherwise"
    )


def on_time(module: nn.Module, stuck: tuple[str, ...]) -> str:
    """What makes a network see the time, from its own layers."""
    for name, norm in module.named_modules():
        if isinstance(norm, nn.GroupNorm) and 1 < norm.num_groups == norm.num_channels:
            groups = _groups_of_four(norm.num_channels)
            fewer = f"groups={groups}" if "groups" in fields_of(module) else f"{groups} groups"
            return (
                f"{name} has {norm.num_groups} groups for {norm.num_channels} channels, so it "
                f"removes what is added to a channel: use {fewer}, more channels, or let the time "
                "scale and shift after the norm"
            )
    if stuck:
        return on_zeros_in_a_row(stuck)
    return "check that forward uses t, and that no norm removes what the time embedding adds"


def _groups_of_four(channels: int) -> int:
    """The largest number of equal groups of at least four channels, or one group."""
    return next((n for n in range(channels // 4, 1, -1) if channels % n == 0), 1)


def on_flips(module: nn.Module) -> str:
    """What makes left and right alike."""
    if "resampling" in fields_of(module):
        return "strided convolutions on even sizes do this: use resampling=area"
    strided = [n for n, m in module.named_modules() if isinstance(m, STRIDED) and max(m.stride) > 1]
    strided = [n for n in strided if not _is_patching(module.get_submodule(n))]
    if strided:
        return (
            f"{listed(tuple(strided))}: a strided convolution on an even size does this; average "
            "pooling after a convolution without stride does not"
        )
    return (
        "harmless unless your data is symmetric; positions, one-sided padding, causal layers and "
        "resampling that keeps one pixel of a pair do this"
    )


def _is_patching(layer: nn.Module) -> bool:
    """Whether a strided convolution cuts into patches, which treats both sides alike."""
    return getattr(layer, "kernel_size", None) == getattr(layer, "stride", ())


def on_padding(module: nn.Module) -> str:
    """What tells the directions of padding from those of filters."""
    said = "compare with the probes gaussian:1 or forward:DATA before trusting fine differences"
    if isinstance(module, ScoreNetwork):
        return said
    return said + "; another padding_mode of the convolutions changes these directions"
