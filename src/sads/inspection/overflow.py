"""Where a value in a network stops being finite.

A score network that divides by a standard deviation, or raises a ratio of noise levels to the power
of a time that it expects in [0, 1], overflows at timestep 900. Its output is then NaN, infinite, or
zero, after a division by infinity. The first operation that turns finite values into others shows
the user where to look.
"""

from typing import Any

import torch
from torch import Tensor, nn

from ..networks.isolation import global_state_kept
from .torch_modes import Arguments, DispatchMode, Keywords

# Masks of attention are infinite on purpose.
ON_PURPOSE = ("full", "fill", "masked_fill", "where", "empty", "scalar_tensor", "triu")


class _Watch(DispatchMode):
    """Remembers the first operation whose result is not finite."""

    def __init__(self) -> None:
        super().__init__()
        self.first: str | None = None

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        result = func(*args, **kwargs)
        name = func._schema.name.partition("::")[2].strip("_")
        if self.first is None and not name.startswith(ON_PURPOSE):
            outputs = result if isinstance(result, (tuple, list)) else (result,)
            if all(map(_finite, args)) and not all(map(_finite, outputs)):
                self.first = name
        return result


def _finite(value: Any) -> bool:
    if not isinstance(value, Tensor) or not (value.is_floating_point() or value.is_complex()):
        return True
    return bool(torch.isfinite(value).all())


@torch.no_grad()
def first_overflow(network: nn.Module, x: Tensor, t: Tensor) -> str | None:
    """The first operation whose result is not finite; None if all results are.

    Args:
        network: the network to call.
        x: its inputs, (N, *shape).
        t: their timesteps, (N,).
    """
    watch = _Watch()
    try:
        with global_state_kept(), watch:
            network(x.clone(), t)
    except Exception:  # a module that cannot be watched shows nothing
        return None
    return watch.first
