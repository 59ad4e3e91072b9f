"""A network with other parameters for every sample of its batch.

Of a network's operations only the linear maps know that the samples belong to different networks:
all others treat the samples of a batch one by one anyway. So a stack of networks runs as an
ordinary batch whose convolutions are grouped, one group a network, and whose linear maps are
products of matrices in batches. Beside `vmap`, which says the same of any module, this has three
advantages: parameters are drawn when their layer is reached and are still in the cache there, no
layer moves axes around, and layers whose input is zero need not be computed, such as the first
level of a U-Net at the probe zero.

It serves only where it gives the same bits as `vmap`, which is tried on networks at hand.
"""

import copy
from collections.abc import Callable, Mapping

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call

from ..networks.initialisation import Distribution

Ask = Callable[[str], Tensor]  # a stack of one parameter, by name


class Stack:
    """A module whose convolutions and linear maps take other parameters for every sample.

    Args:
        module: one member, as a template; it is not changed.
        drawn: names of the parameters that differ between networks.
    """

    def __init__(self, module: nn.Module, drawn: Mapping[str, Distribution]):
        self.module: nn.Module = copy.deepcopy(module)
        self.ask: Ask | None = None
        own = {f"{place}.{name}" for place in self._layers(drawn) for name in ("weight", "bias")}
        self.covers: bool = set(drawn) <= own

    def _layers(self, drawn: Mapping[str, Distribution]) -> list[str]:
        """Make the layers with drawn weights ask for them; where they are."""
        places = []
        for place, layer in self.module.named_modules():
            if f"{place}.weight" not in drawn:
                continue
            own_bias = f"{place}.bias" in drawn
            if isinstance(layer, nn.Linear):
                layer.forward = _Linear(self, layer, place, own_bias=own_bias)
            elif isinstance(layer, (nn.Conv1d, nn.Conv2d)) and _is_plain(layer):
                layer.forward = _Convolution(self, layer, place, own_bias=own_bias)
            else:
                continue
            places.append(place)
        return places

    def read(
        self,
        ask: Ask,
        constants: Mapping[str, Tensor],
        x: Float[Tensor, "N ..."],
        t: Int[Tensor, " N"],
    ) -> tuple[Tensor, ...]:
        """What the module returns of N networks at (x_i, t_i)."""
        self.ask = ask
        try:
            return functional_call(self.module, dict(constants), (x, t))
        finally:
            self.ask = None

    def parameter(self, name: str) -> Tensor:
        """The stack of one parameter that the networks under way have."""
        assert self.ask is not None
        return self.ask(name)


class Drawing:
    """Stacks of parameters, drawn in their order, each as late as it is asked for.

    Args:
        drawn: distributions of the parameters, in the order of their draws.
        shapes: of one network's parameters.
        count: networks of the stack.
        rng: of the draws.
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
        """Draw what nobody asked for: later draws of the generator must not depend on it."""
        for following, distribution in self._following:
            self._draw(following, distribution)

    def _draw(self, name: str, distribution: Distribution) -> Tensor:
        return distribution.draw((self._count, *self._shapes[name]), self._rng)


class _Layer:
    """A layer that asks for the parameters of every sample's own network."""

    def __init__(
        self, stack: Stack, layer: nn.Conv1d | nn.Conv2d | nn.Linear, place: str, *, own_bias: bool
    ):
        self.stack, self.layer, self.place, self.own_bias = stack, layer, place, own_bias

    def weight(self) -> Tensor:
        return self.stack.parameter(f"{self.place}.weight")

    def bias(self) -> Tensor | None:
        """The biases, (N, out) or (out,) where all networks have the same."""
        if self.own_bias:
            return self.stack.parameter(f"{self.place}.bias")
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
        assert isinstance(layer, (nn.Conv1d, nn.Conv2d))
        if set(layer.kernel_size) == set(layer.stride) == {1}:
            out = torch.bmm(weight.flatten(2), x.flatten(2))
            return out.view(n, -1, *x.shape[2:])
        if _is_zero(x):
            sizes = (-(-s // step) for s, step in zip(x.shape[2:], layer.stride, strict=True))
            return x.new_zeros(n, layer.out_channels, *sizes)
        out = (F.conv2d if x.ndim == 4 else F.conv1d)(
            x.reshape(1, -1, *x.shape[2:]),
            weight.flatten(0, 1),
            None,
            layer.stride,  # pyright: ignore[reportArgumentType]
            layer.padding,  # pyright: ignore[reportArgumentType]
            1,
            n,
        )
        return out.view(n, -1, *out.shape[2:])


def _is_plain(layer: nn.Conv1d | nn.Conv2d) -> bool:
    """Whether a convolution keeps positions but for its stride, and has nothing unusual."""
    same = all(
        p == k // 2 and k % 2
        for k, p in zip(layer.kernel_size, layer.padding, strict=False)
        if not isinstance(p, str)
    )
    usual = layer.groups == 1 and layer.padding_mode == "zeros" and set(layer.dilation) == {1}
    return same and usual and not isinstance(layer.padding, str)


def _is_zero(x: Tensor) -> bool:
    """Whether all inputs are zero; looked up where that needs no waiting for a device."""
    return x.device.type == "cpu" and not x[0].any() and not x.any()
