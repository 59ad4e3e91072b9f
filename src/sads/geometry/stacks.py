"""A network with other parameters for every sample of its batch.

Only the linear maps of a network need to know that the samples belong to different networks; all
other operations treat the samples of a batch one by one anyway. So a stack of networks runs as an
ordinary batch whose convolutions are grouped, one group a network, and whose linear maps are
products of matrices in batches. Compared with `vmap`, which works for any module, this has three
advantages: parameters are drawn when their layer is reached and are still in the cache there, no
layer moves axes around, and layers whose input is zero need not be computed, such as the first
level of a U-Net at the probe zero.

It is used only where it gives the same bits as `vmap`, which is tried on the first networks.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..networks.initialisation import Distribution

Ask = Callable[[str], Tensor]  # a stack of one parameter, by name


def stack_of(
    module: nn.Module, drawn: Mapping[str, Distribution], constants: Mapping[str, Tensor]
) -> "Stack | None":
    """A stack of a module; None if anything but its linear maps has drawn parameters."""
    stack = Stack(copy.deepcopy(module))
    for name, value in constants.items():
        stack.module.get_parameter(name).data = value
    left = set(drawn)
    for place, layer in stack.module.named_modules():
        kind = _KINDS.get(type(layer))  # a subclass may do something else
        if kind is not None and f"{place}.weight" in drawn:
            layer.forward = kind(stack, layer, place, own_bias=f"{place}.bias" in drawn)
            left -= {f"{place}.weight", f"{place}.bias"}
    return None if left else stack


class Stack:
    """A module whose convolutions and linear maps ask for the parameters of every sample.

    Args:
        module: one member, as a template.
    """

    def __init__(self, module: nn.Module):
        self.module = module
        self.ask: Ask = {}.__getitem__  # the stacks of the current networks

    def read(self, ask: Ask, x: Float[Tensor, "N ..."], t: Int[Tensor, " N"]) -> tuple[Tensor, ...]:
        """What the module returns of N networks at (x_i, t_i)."""
        self.ask = ask
        return self.module(x, t)


class Drawing:
    """Stacks of parameters, drawn in their order and as late as possible.

    Args:
        drawn: distributions of the parameters, in the order of their draws.
        shapes: the shapes of one network's parameters.
        count: the number of networks in the stack.
        rng: the generator of the draws.
    """

    def __init__(
        self,
        drawn: Mapping[str, Distribution],
        shapes: Mapping[str, tuple[int, ...]],
        count: int,
        rng: np.random.Generator,
    ):
        self._following = iter(drawn.items())
        self._shapes, self._count, self._rng = shapes, count, rng
        self._waiting: dict[str, Tensor] = {}

    def __call__(self, name: str) -> Tensor:
        while name not in self._waiting:
            following, distribution = next(self._following)
            self._waiting[following] = self._draw(following, distribution)
        return self._waiting.pop(name)

    def finish(self) -> None:
        """Draw the unused parameters, so that later draws do not depend on which were used."""
        for following, distribution in self._following:
            self._draw(following, distribution)

    def _draw(self, name: str, distribution: Distribution) -> Tensor:
        return distribution.draw((self._count, *self._shapes[name]), self._rng)


class _Layer:
    """A layer that asks for the parameters of every sample's own network."""

    def __init__(self, stack: Stack, layer: Any, place: str, *, own_bias: bool):
        self.stack, self.layer, self.place, self.own_bias = stack, layer, place, own_bias

    def weight(self) -> Tensor:
        return self.stack.ask(f"{self.place}.weight")

    def bias(self) -> Tensor | None:
        """The biases, (N, out), or (out,) if all networks have the same."""
        if self.own_bias:
            return self.stack.ask(f"{self.place}.bias")
        return self.layer.bias


class _Linear(_Layer):
    def __call__(self, x: Float[Tensor, "N *rows width"]) -> Tensor:
        weight, bias = self.weight(), self.bias()
        rows = x.reshape(len(x), -1, x.shape[-1])
        out = torch.bmm(rows, weight.mT).view(*x.shape[:-1], -1)
        if bias is None:
            return out
        return out.add_(bias.view(-1, *(1,) * (out.ndim - 2), out.shape[-1]))


class _Convolution(_Layer):
    def __call__(self, x: Float[Tensor, "N width *positions"]) -> Tensor:
        weight, bias = self.weight(), self.bias()
        out = self._products(x, weight)
        return out if bias is None else out.add_(bias.view(-1, out.shape[1], *(1,) * (x.ndim - 2)))

    def _products(self, x: Tensor, weight: Tensor) -> Tensor:
        layer, n = self.layer, len(x)
        if weight[0, 0].numel() == x.shape[1] and set(layer.stride) == {1}:  # one pixel wide
            return torch.bmm(weight.flatten(2), x.flatten(2)).view(n, -1, *x.shape[2:])
        if _is_zero(x):
            one = layer._conv_forward(x[:1], weight[0], None)
            return one.new_zeros(n, *one.shape[1:])
        out = (F.conv2d if x.ndim == 4 else F.conv1d)(
            x.reshape(1, -1, *x.shape[2:]),
            weight.flatten(0, 1),
            stride=layer.stride,
            padding=layer.padding,
            dilation=layer.dilation,
            groups=n * layer.groups,
        )
        return out.view(n, -1, *out.shape[2:])


_KINDS: Mapping[type[nn.Module], type[_Linear] | type[_Convolution]] = {
    nn.Linear: _Linear,
    nn.Conv1d: _Convolution,
    nn.Conv2d: _Convolution,
}


def _is_zero(x: Tensor) -> bool:
    """Whether all inputs are zero; checked only where that does not wait for a device."""
    if x.device.type != "cpu" or x[(0,) * x.ndim].item() != 0:
        return False
    return not x[0].any() and not x.any()
