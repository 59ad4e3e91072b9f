"""How many values of a network's bounded nonlinearities lie in their flat parts.

Every call of a bounded function is watched, whether it is a module or a function:

| function               | flat where                                                |
|------------------------|-----------------------------------------------------------|
| tanh                   | 1 - y^2 < 1e-3                                            |
| sigmoid                | y (1 - y) < 2.5e-4, the same part of its largest slope    |
| hardtanh, clamp        | beyond a bound, if there are two; one alone is a guard    |
| softmax                | one entry above 0.999, if there are several               |
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..finding import Finding
from ..patient import Patient

FLAT = 1e-3
SATURATED = 0.5  # share of a nonlinearity's values in its flat part


def saturated(patient: Patient) -> Iterator[Finding]:
    """A bounded nonlinearity is in its flat part for most values."""
    with torch.inference_mode():
        worst = most_saturated(lambda: patient.run(patient.start, patient.x, patient.middle))
    if worst is not None and worst.share > SATURATED:
        yield Finding(
            "saturated",
            "warning",
            f"{worst.share:.0%} of the values of {worst.name} (call {worst.call} of the forward "
            "pass) are in its flat part at a Gaussian input",
            "little gradient passes through it, and the directions behind it hardly vary",
            "scale its input down, or normalise before it; for attention divide the scores by the "
            "root of the head's width",
        )


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
    return max(watch.calls, key=lambda one: one.share, default=None)


# Which values y = f(x) are flat; by name, since torch has every function more than once.
_FLAT: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "tanh": lambda y, x: 1 - y.square() < FLAT,
    "sigmoid": lambda y, x: 4 * y * (1 - y) < FLAT,
    "hardtanh": lambda y, x: y != x,
    "clamp": lambda y, x: y != x,
    "softmax": lambda y, x: y > 1 - FLAT,
}


class _Watch(TorchFunctionMode):
    """Records the share of flat values of each bounded call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Saturation] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        output = func(*args, **named)
        name = getattr(func, "__name__", "")
        if name in _FLAT and isinstance(output, Tensor) and args:
            chosen = _FLAT[name](output, args[0])
            if name == "softmax":  # a row is flat if one of its entries is near one
                chosen = chosen.any(dim=_dimension(args, named))
            if _is_bounded(name, output, args, named):
                share = float(chosen.double().mean())
                self.calls.append(Saturation(name, len(self.calls) + 1, share))
        return output


def _dimension(args: tuple, named: dict[str, Any]) -> int:
    """The dimension that a softmax sums over."""
    return named.get("dim", args[1] if len(args) > 1 else -1)


def _is_bounded(name: str, output: Tensor, args: tuple, named: dict[str, Any]) -> bool:
    """Whether a call is bounded; a clamp on one side or a softmax of one entry is not."""
    if name == "softmax":
        return output.shape[_dimension(args, named)] > 1
    if name == "clamp":
        bounds = (*args[1:3], named.get("min"), named.get("max"))
        return sum(bound is not None for bound in bounds) == 2
    return True


RESPONSES = (saturated,)
