"""Watching a module's forward pass: every linear map and convolution that it calls, by number.

The output of a call can be replaced by chosen values. If u = W h + b is replaced by zero, the
network's output is the part that does not come from that layer. h is the input of the layer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .shortcuts import Shortcut
from .torch_modes import Arguments, Keywords
from .trunk_replay import DivergedError, Seeing, Tail, kept_trunks

LINEAR = F.linear
CONVOLUTIONS = (torch.conv1d, torch.conv2d, torch.conv3d)
TRANSPOSED = (torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d)
WATCHED = frozenset((LINEAR, *CONVOLUTIONS, *TRANSPOSED))
_ARGUMENTS = (
    ("input", "weight", "bias", "stride", "padding", "dilation", "groups"),
    ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"),
)


@dataclass(frozen=True)
class Call:
    """One call of a linear map or convolution: u = function(h, weight, bias, **options)."""

    function: Callable[..., Tensor]
    h: Tensor
    weight: Tensor
    bias: Tensor | None
    options: dict[str, Any]
    u: Tensor


class NoLastLayer(Exception):  # noqa: N818 - not an error: the network is sampled instead
    """Why the last layer cannot be integrated.

    The reason is stored in plans, which identify geometries: its words must not change.
    """


class _Watch(Tail):
    """Numbers the watched calls and passes them to a function that may replace their output.

    Args:
        see: gets the number of a call and the call, and returns the output to use.
        index: number of the call in question; None if each call is, one after another.
        start: number of the first call.
    """

    def __init__(
        self, see: Callable[[int, Call], Tensor], index: int | None = None, start: int = 0
    ):
        self.see = see
        self.index = index
        self.count = start

    def is_next(self, func: Any) -> bool:
        return func in WATCHED and self.index in (None, self.count)

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        result = func(*args, **kwargs)
        if func not in WATCHED:
            return result
        index, self.count = self.count, self.count + 1
        given = dict(zip(_ARGUMENTS[func in TRANSPOSED], args, strict=False)) | kwargs
        h, weight, bias = given.pop("input"), given.pop("weight"), given.pop("bias", None)
        call = Call(func, h, weight, bias, given, result)
        return self.see(index, call)


def count_calls(network: nn.Module, x: Tensor, t: Tensor) -> int:
    """The number of watched calls in a pass; inside `trunks_kept` the last trunk is recorded."""
    watch, kept = _Watch(lambda index, call: call.u), kept_trunks()
    if kept is None:
        with Seeing(watch):
            network(x, t)
    else:
        kept.record(network, x, t, watch, lambda: watch.count - 1)
    return watch.count


def read(
    network: nn.Module,
    x: Tensor,
    t: Tensor,
    index: int,
    u: Callable[[Tensor], Tensor] = torch.zeros_like,
) -> tuple[Tensor, Call]:
    """The output if the output of a call is replaced by u(its own value), and the call.

    With the default, zero, it is the constant part a(x, t). Inside `trunks_kept` (`trunk_replay`)
    everything before the call is computed only once.
    """
    seen: list[Call] = []

    def watch(start: int) -> _Watch:
        seen.clear()
        return _replacing(index, u, seen, start)

    kept = kept_trunks()
    if kept is None:
        with Seeing(watch(0)):
            output = network(x, t)
    else:
        output = kept.run(network, x, t, index, watch)
    if not seen:
        raise NoLastLayer("the layers that are called change from pass to pass")
    return output, seen[0]


def _replacing(
    index: int, u: Callable[[Tensor], Tensor], seen: list[Call], start: int = 0
) -> _Watch:
    """An observer that replaces the output of a call, and keeps the call in a list."""

    def see(number: int, call: Call) -> Tensor:
        if number != index:
            return call.u
        seen.append(call)
        return u(call.u)

    return _Watch(see, index, start)


Outputs = Callable[[Tensor, Callable[[Tensor], Tensor]], Tensor]


def outputs_over_time(
    network: nn.Module, x: Tensor, index: int, checked: Sequence[Tensor]
) -> Outputs:
    """A function that gives the output at any timesteps with a call's output replaced, as `read`.

    Only what reaches the output past the call is computed, if that gives the same output as whole
    passes at some timesteps (`shortcuts`).

    Args:
        network: the network.
        x: its input.
        index: number of the call.
        checked: the timesteps of the passes to be compared, all of one shape.
    """

    def whole(t: Tensor, u: Callable[[Tensor], Tensor]) -> Tensor:
        return read(network, x, t, index, u)[0]

    way = Shortcut.found(network, x, checked[0], _replacing(index, torch.zeros_like, []))
    if way is None:
        return whole

    def short(t: Tensor, u: Callable[[Tensor], Tensor]) -> Tensor:
        try:
            return way.run(x, t, _replacing(index, u, [], start=index))
        except DivergedError:
            return whole(t, u)

    compared = product(checked, (torch.zeros_like, torch.ones_like))
    same = all(torch.equal(short(t, u), whole(t, u)) for t, u in compared)
    return short if same else whole


def features(call: Call) -> Tensor:
    """The features h of one sample: (C, *S) for a convolution, (T, width) for a linear map.

    For a convolution that treats the frames of a video like samples they are (C, frames, *S).
    """
    if call.function is LINEAR:
        return call.h.reshape(-1, call.h.shape[-1])
    return call.h[0] if len(call.h) == 1 else call.h.movedim(0, 1)


def in_place_of(values: Tensor) -> Callable[[Tensor], Tensor]:
    """A replacement of u by fixed values, the same for every sample of a batch."""

    def replaced(u: Tensor) -> Tensor:
        # A new tensor that is stacked like u, so that it can be written to, also under `vmap`.
        repeated = values.to(u).repeat(u.numel() // values.numel())
        return torch.zeros_like(u) + repeated.view(u.shape)

    return replaced
