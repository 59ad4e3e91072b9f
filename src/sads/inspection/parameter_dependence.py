"""The parameters on which something depends, found by moving them.

Gradients would show it too, but not through other people's checkpoint functions, which raise if a
parameter needs no gradient, nor through anything that is not differentiable. A group of parameters
is moved together, and its halves are tried only if that changes something, so that k parameters out
of n are found with about 2 k log2(n) forward passes.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ..randomness import torch_stream

Observe = Callable[[], tuple[Tensor, ...]]


@contextmanager
def moved(network: nn.Module, names: Sequence[str], *, zeros_too: bool = True) -> Iterator[None]:
    """Add noise of half their own size to parameters inside the block.

    Args:
        network: the network.
        names: the parameters to move.
        zeros_too: also add noise to entries that are zero; if the whole parameter is zero, the
            noise has the size of a default weight.
    """
    generator = torch_stream(0, "parameters moved aside")
    kept: dict[str, Tensor] = {}
    try:
        with torch.no_grad():
            for name in names:
                parameter = network.get_parameter(name)
                kept[name] = parameter.detach().clone()
                noise = torch.randn(parameter.shape, generator=generator).to(parameter)
                if not zeros_too:
                    parameter *= 1 + 0.5 * noise
                    continue
                size = float(parameter.abs().double().square().mean().sqrt())
                parameter += 0.5 * noise * (size or 1 / math.sqrt(math.prod(parameter.shape[1:])))
        yield
    finally:
        with torch.no_grad():
            for name, value in kept.items():
                network.get_parameter(name).copy_(value)


def affecting(network: nn.Module, names: Sequence[str], observe: Observe) -> set[str]:
    """The named parameters that change what is observed when they are moved."""
    movable = [n for n in names if _is_movable(network.get_parameter(n))]
    with torch.no_grad():
        before = observe()

        def among(group: Sequence[str]) -> set[str]:
            if not group:
                return set()
            with moved(network, group):
                after = observe()
            if all(torch.equal(a, b) for a, b in zip(before, after, strict=True)):
                return set()
            if len(group) == 1:
                return set(group)
            middle = len(group) // 2
            return among(group[:middle]) | among(group[middle:])

        return among(movable)


def _is_movable(parameter: Tensor) -> bool:
    return parameter.is_floating_point() or parameter.is_complex()
