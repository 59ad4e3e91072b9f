"""How much of a network's bounded nonlinearities lies in their flat parts.

Every call of a bounded function is watched, whether it is a module or a function:

| function               | flat where                                                |
|------------------------|-----------------------------------------------------------|
| tanh                   | 1 - y^2 < 1e-3                                            |
| sigmoid                | y (1 - y) < 2.5e-4, the same part of its largest slope    |
| hardtanh, clamp        | beyond a bound, if there are two: one alone makes a guard |
| softmax                | one entry above 0.999, if there are several               |
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

FLAT = 1e-3


@dataclass(frozen=True)
class Saturation:
    """The share of flat values in one call of a bounded function, the `call`-th of a pass."""

    name: str
    call: int
    share: float


def most_saturated(run: Callable[[], object]) -> Saturation | None:
    """The call with the largest share of flat values; None if no bounded function is called."""
    with _Watch() as watch:
        run()
    return max(watch.found, key=lambda one: one.share, default=None)


def _flat_tanh(y: Tensor, x: Tensor) -> Tensor:
    return 1 - y.square() < FLAT


def _flat_sigmoid(y: Tensor, x: Tensor) -> Tensor:
    return 4 * y * (1 - y) < FLAT


def _flat_softmax(y: Tensor, x: Tensor) -> Tensor:
    return y > 1 - FLAT


def _flat_bounds(y: Tensor, x: Tensor) -> Tensor:
    return y != x


_BOUNDED: dict[Any, tuple[str, Callable[[Tensor, Tensor], Tensor]]] = {
    torch.tanh: ("tanh", _flat_tanh),
    F.tanh: ("tanh", _flat_tanh),
    Tensor.tanh: ("tanh", _flat_tanh),
    torch.sigmoid: ("sigmoid", _flat_sigmoid),
    F.sigmoid: ("sigmoid", _flat_sigmoid),
    Tensor.sigmoid: ("sigmoid", _flat_sigmoid),
    F.hardtanh: ("hardtanh", _flat_bounds),
    torch.clamp: ("clamp", _flat_bounds),
    Tensor.clamp: ("clamp", _flat_bounds),
    F.softmax: ("softmax", _flat_softmax),
    torch.softmax: ("softmax", _flat_softmax),
    Tensor.softmax: ("softmax", _flat_softmax),
}


class _Watch(TorchFunctionMode):
    """Notes the share of flat values of each bounded call."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Saturation] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        output = func(*args, **named)
        if func in _BOUNDED and isinstance(output, Tensor) and args:
            name, flat = _BOUNDED[func]
            chosen = flat(output, args[0])
            if name == "softmax":  # a row is flat if one of its entries is near one
                chosen = chosen.any(dim=_dimension(args, named))
            if _is_bounded(name, output, args, named):
                share = float(chosen.double().mean())
                self.found.append(Saturation(name, len(self.found) + 1, share))
        return output


def _dimension(args: tuple, named: dict[str, Any]) -> int:
    """The dimension that a softmax sums over."""
    return named.get("dim", args[1] if len(args) > 1 else -1)


def _is_bounded(name: str, output: Tensor, args: tuple, named: dict[str, Any]) -> bool:
    """Whether a call is what its name says; one bound, or one entry, is harmless."""
    if name == "softmax":
        return output.shape[_dimension(args, named)] > 1
    if name == "clamp":
        bounds = (*args[1:3], named.get("min"), named.get("max"))
        return sum(bound is not None for bound in bounds) == 2
    return True
