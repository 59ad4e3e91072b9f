"""Advice that several findings share, in terms of the examined network.

The networks of this package have fields (`groups`, `resampling`); they are named only for networks
that have them. Other people's modules are told what to change in their code, by the layer's name.
"""

import inspect

from torch import nn

from ...networks import ScoreNetwork


def fields_of(module: nn.Module) -> frozenset[str]:
    """The fields that one of our networks takes; none for other people's."""
    if not isinstance(module, ScoreNetwork):
        return frozenset()
    return frozenset(inspect.signature(type(module)).parameters) - {"shape"}


def listed(names: tuple[str, ...]) -> str:
    """A few names, and the number of further ones."""
    shown = ", ".join(names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def on_zeros_in_a_row(layers: tuple[str, ...]) -> str:
    """What to do about layers that never get a gradient."""
    return (
        f"{listed(layers)} start at zero and never get a gradient, because zero layers feed "
        "each other: give all but one of them another initialisation"
    )
