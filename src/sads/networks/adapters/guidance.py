"""Classifier-free guidance: two calls of one network, combined.

    prediction = f(x, t, null) + s (f(x, t, condition) - f(x, t, null)).

Every prediction is an affine map of the noise with the same constant part for both calls, so it
does not matter which prediction is combined. If a network ends in a linear layer, f = a + Q(W h
+ b), combining the features h before it gives the same result,

    prediction = a + Q(W (h_null + s (h_condition - h_null)) + b),

and the layer is called only once. Then it can be integrated like any other last layer.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
CLOSE = 1e-4  # allowed relative difference of both ways, in float32

Call = Callable[[bool], Any]  # calls the network, with the null condition if True


class _Reached(Exception):  # noqa: N818 - ends a pass whose rest is not needed
    """The last layer was reached."""


def by_outputs(call: Call, read: Callable[[Any], Tensor], scale: float) -> Tensor:
    """The guided prediction, from the outputs of both calls."""
    null, conditioned = read(call(True)), read(call(False))
    return null + scale * (conditioned - null)


def by_features(
    call: Call, read: Callable[[Any], Tensor], scale: float, layer: nn.Module
) -> Tensor:
    """The guided prediction, from the features before the last layer of both calls."""
    kept: list[Tensor] = []

    def leave(_: nn.Module, given: tuple[Any, ...]) -> None:
        kept.append(given[0])
        raise _Reached

    def combine(_: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
        return (kept[0] + scale * (given[0] - kept[0]), *given[1:])

    hook = layer.register_forward_pre_hook(leave)
    try:
        with suppress(_Reached):
            call(True)
    finally:
        hook.remove()
    hook = layer.register_forward_pre_hook(combine)
    try:
        return read(call(False))
    finally:
        hook.remove()


@torch.no_grad()
def last_layer_of(
    network: nn.Module, call: Call, read: Callable[[Any], Tensor], scale: float
) -> str | None:
    """The name of the layer before which features can be combined; None if there is none."""
    order: list[str] = []
    names = [n for n, module in network.named_modules() if isinstance(module, LAYERS)]
    hooks = [
        network.get_submodule(name).register_forward_hook(lambda *_, name=name: order.append(name))
        for name in names
    ]
    try:
        call(False)
    finally:
        for hook in hooks:
            hook.remove()
    if not order or order.count(order[-1]) > 1:
        return None
    expected = by_outputs(call, read, scale)
    try:
        combined = by_features(call, read, scale, network.get_submodule(order[-1]))
    except Exception:  # the layer is not called like one of torch
        return None
    far = (combined - expected).norm() > CLOSE * expected.norm()
    return None if bool(far) else order[-1]
