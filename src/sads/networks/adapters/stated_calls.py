"""What the user states about a call, if a module's signature does not show it.

    def inputs(x, t):
        return {"depth": x.new_zeros(len(x), 16)}

    def unpatchify(output, x):
        return output.transpose(1, 2).reshape(x.shape)

`inputs` returns what is passed besides input and time, by the names of the arguments. Other
arguments are determined as usual. It may also name the input or the time, to replace them (for
example by a time for each token). `unpatchify` turns what the module returns into a tensor of the
shape of x. Both run under `torch.vmap`, so they must not depend on values.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ...errors import InputError, NetworkError
from .conditions import Condition, passed


@dataclass(frozen=True)
class Calling:
    """How the modules of a family are called, as far as their user states it.

    Attributes:
        inputs: a function of x (N, *shape) and the times t (N,) that the module gets, which returns
            further arguments.
        unpatchify: a function of what the module returns and of x, which returns the prediction in
            the shape of x.
        conditions: further arguments as values.
        source: where this is stated, for the record.
        label: the class that is passed as the label; None for the null condition.
        guidance: the scale s of classifier-free guidance: the prediction is that of the null
            condition, plus s times what the condition adds to it; 1 means no guidance.

    >>> import sads
    >>> import torch
    >>> from torch import nn
    >>> class Network(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = nn.Conv2d(2, 1, 3, padding=1)
    ...     def forward(self, x, t, depth):
    ...         return self.layer(torch.cat([x, depth], dim=1))
    >>> depths = sads.Calling(inputs=lambda x, t: {"depth": torch.zeros_like(x)})
    >>> family = sads.ScoreFamily(Network, (1, 4, 4), name="mine", calling=depths)
    >>> geometry = sads.estimate_geometry(family, networks=24, probe="gaussian:1")
    >>> geometry.plan.assumptions.inputs
    {'depth': 'float32 of 1x4x4, as stated'}
    """

    inputs: Callable[[Tensor, Tensor], Mapping[str, Any]] | None = None
    unpatchify: Callable[[Any, Tensor], Tensor] | None = None
    conditions: tuple[Condition, ...] = ()
    source: str = ""
    label: int | None = None
    guidance: float | None = None

    def __post_init__(self) -> None:
        if self.label is not None and self.label < 0:
            raise InputError(f"classes are counted from 0, got class={self.label}")
        if self.guidance is not None and not math.isfinite(self.guidance):
            raise InputError(f"guidance is a number, got {self.guidance}")

    def given(self, x: Tensor, t: Tensor) -> dict[str, Any]:
        """The stated arguments with inputs x (N, *shape) at the times t (N,).

        Raises:
            NetworkError: if the user's function returns something else than a dictionary.
        """
        named = passed(self.conditions, x)
        if self.inputs is None:
            return named
        own = self.inputs(x, t)
        if not isinstance(own, Mapping) or not all(isinstance(name, str) for name in own):
            raise NetworkError(
                "`inputs(x, t)` must return a dictionary of arguments by their names, got "
                f"{type(own).__name__}"
            )
        return named | dict(own)

    def words(self, x: Tensor, t: Tensor) -> dict[str, str]:
        """The stated arguments in words, by name."""
        stated = f"as stated{f' in {self.source}' if self.source else ''}"
        words = {one.name: f"{one.words}, {stated}" for one in self.conditions}
        own = {} if self.inputs is None else self.given(x, t)
        known = {name.partition(".")[0] for name in words}
        return words | {n: f"{_described(v)}, {stated}" for n, v in own.items() if n not in known}


def _described(value: Any) -> str:
    """A value that is passed, in words."""
    if isinstance(value, Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return f"{kind} of {'x'.join(map(str, value.shape[1:]))}" if value.ndim > 1 else kind
    if isinstance(value, Mapping):
        return f"a dictionary of {', '.join(map(str, value))}"
    if isinstance(value, (tuple, list)):
        return f"a list of {len(value)}"
    return repr(value)
