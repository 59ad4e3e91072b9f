"""Where in a network a value stops being finite.

A score network that divides by a standard deviation, or raises a ratio of noise levels to the power
of a time that it expects in [0, 1], overflows at timestep 900. Its output then is NaN, infinite, or
zero: something over infinity. The first operation that made a value that is not finite out of
finite ones tells the user where to look.
"""

from typing import Any

import torch
from torch import Tensor, nn

from ..networks.isolation import global_state_kept
from .torch_modes import Arguments, DispatchMode, Keywords

# Masks of attention are infinite on purpose.
ON_PURPOSE = ("full", "fill", "masked_fill", "where", "empty", "scalar_tensor", "triu")


class _Watch(DispatchMode):
    """Remembers the first operation that left the finite numbers."""

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
    """The operation in which a value stops being finite; None where all stay so.

    Args:
        network: to be called with x and t.
        x: (N, *shape).
        t: (N,).
    """
    watch = _Watch()
    try:
        with global_state_kept(), watch:
            network(x.clone(), t)
    except Exception:  # a module that cannot be watched: then nothing is known
        return None
    return watch.first
