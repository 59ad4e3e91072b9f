"""Networks that output nothing at initialisation: which layer is to blame, and how to wake it.

Many networks start with a zero last layer (DiT, ADM), a zero gain (EDM2) or zero convolutions. Then
their output does not depend on their parameters and G = 0. The parameters to blame are those that
are zero and have a gradient: everything else acts only through them.

Redrawn with its own default, the layer gives the geometry that its first steps of training
approach: the limit of a vanishing initial scale, up to a constant factor.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..randomness import torch_stream
from .adapters.calls import Adapted
from .initialisation import fans

POLICIES = ("explain", "last", "all")
_GAIN = re.compile(r"gain|gamma|scale|alpha")


@dataclass(frozen=True)
class Silence:
    """Why a network outputs nothing of its own.

    Attributes:
        layers: names of the layers or single parameters whose zeros are to blame, in order; empty
            if several in a row are.
        zeros: all zero-initialised layers and gains of the network, those to blame included.
    """

    layers: tuple[str, ...]
    zeros: tuple[str, ...]


def zero_parameters(network: nn.Module) -> dict[str, nn.Parameter]:
    """Parameters that are zero throughout."""
    return {n: p for n, p in network.named_parameters() if not bool(p.detach().any())}


def zero_layers(network: nn.Module) -> tuple[str, ...]:
    """Layers whose weight starts at zero, and gains that do; zero biases are no layers."""
    found: list[str] = []
    for name in zero_parameters(network):
        owner, _, own = name.rpartition(".")
        layer = network.get_submodule(owner)
        if hasattr(layer, "reset_parameters"):
            if own == "weight":
                found.append(owner)
        elif _GAIN.search(own) or (own == "weight" and network.get_parameter(name).ndim > 1):
            found.append(name)
    return tuple(dict.fromkeys(found))


def silence_of(run: nn.Module, x: Tensor, t: Tensor) -> Silence | None:
    """What silences a noise predictor; None if nothing that starts at zero does.

    Args:
        run: the network, adapted or not; layers are named as in the module inside.
        x: an input that is not zero, (1, *shape).
        t: its timestep, (1,).
    """
    network = run.network if isinstance(run, Adapted) else run
    zeros = zero_parameters(network)
    kept = {n: p.requires_grad for n, p in network.named_parameters()}
    try:
        for name, parameter in network.named_parameters():
            parameter.requires_grad_(name in zeros)
        with torch.enable_grad():
            output = run(x, t)
        if not output.requires_grad:
            return None
        direction = torch.randn(output.shape, generator=torch_stream(0, "why an output is zero"))
        gradients = torch.autograd.grad(
            (output * direction.to(output)).sum(), list(zeros.values()), allow_unused=True
        )
    finally:
        for name, parameter in network.named_parameters():
            parameter.requires_grad_(kept[name])
    blamed = [
        name
        for name, gradient in zip(zeros, gradients, strict=True)
        if gradient is not None and bool(gradient.any())
    ]
    layers = _as_layers(network, blamed)
    return Silence(layers, tuple(dict.fromkeys((*zero_layers(network), *layers))))


def _as_layers(network: nn.Module, parameters: list[str]) -> tuple[str, ...]:
    """The blamed layers with a zero weight, and gains; zero biases only add to the output."""
    known = set(zero_layers(network))
    layers = [name for p in parameters for name in (p, p.removesuffix(".weight")) if name in known]
    bare = [n for n in parameters if "bias" not in n and _is_bare(network, n)]
    return tuple(dict.fromkeys(layers or bare))


def _is_bare(network: nn.Module, parameter: str) -> bool:
    """Whether a parameter belongs to no layer that could be given its default."""
    return not hasattr(network.get_submodule(parameter.rpartition(".")[0]), "reset_parameters")


def redrawing(factory: Callable[[], Any], names: tuple[str, ...]) -> Callable[[], Any]:
    """A factory whose networks have the named layers redrawn and the named gains set to one."""
    return partial(_made_and_redrawn, factory, names)


def _made_and_redrawn(factory: Callable[[], Any], names: tuple[str, ...]) -> Any:
    network = factory()
    for name in names:
        redraw(network, name)
    return network


@torch.no_grad()
def redraw(network: nn.Module, name: str) -> None:
    """Give a layer its own default initialisation, or a gain the value one."""
    owner, _, own = name.rpartition(".")
    holder = network.get_submodule(owner)
    target = getattr(holder, own)
    if isinstance(target, nn.Module):
        target.reset_parameters()  # pyright: ignore[reportCallIssue]
    elif target.ndim > 1:
        bound = 1 / math.sqrt(fans(target)[0])  # torch's default for linear and convolution layers
        target.uniform_(-bound, bound)
    else:
        target.fill_(1.0)
