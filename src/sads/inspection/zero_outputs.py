"""Networks that output nothing at initialisation: which layer is to blame, and how to redraw it.

Many networks start with a zero last layer (DiT, ADM), a zero gain (EDM2) or zero convolutions. Then
their output does not depend on their parameters, and G = 0. If only the weight of the last layer is
zero (CSDI, DiffWave), its bias remains and G is the direction of the bias, which says nothing about
the network either. A network is silent if no weight reaches its output. The parameters to blame are
those zeros that change the output when they are moved, because everything else acts only through
them.

If the layer is redrawn with its own default, the geometry is the one that the first steps of
training approach: the limit of a vanishing initial scale, up to a constant factor.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import NetworkError
from ..networks import ScoreFamily
from ..networks.adapters import module_inside
from ..networks.initialisation import fans
from .initial_distributions import unseen
from .parameter_dependence import affecting, moved

POLICIES = ("explain", "last", "all")
_GAIN = re.compile(r"gain|gamma|scale|alpha")


@dataclass(frozen=True)
class Silence:
    """Why a network outputs nothing of its own.

    Attributes:
        layers: names of the layers or single parameters whose zeros are to blame, in order; empty
            if several layers in a row are.
        zeros: all zero-initialised layers and gains of the network, including those to blame.
        biased: whether biases remain in the output, so that networks still differ.
    """

    layers: tuple[str, ...]
    zeros: tuple[str, ...]
    biased: bool = False


def zero_parameters(network: nn.Module) -> dict[str, nn.Parameter]:
    """Parameters whose entries are all zero."""
    return {n: p for n, p in network.named_parameters() if not bool(p.detach().any())}


def zero_layers(network: nn.Module) -> tuple[str, ...]:
    """Layers and gains that start at zero; layers in which only the bias is zero do not count."""
    layers: list[str] = []
    for name in zero_parameters(network):
        owner, _, own = name.rpartition(".")
        layer = network.get_submodule(owner)
        if hasattr(layer, "reset_parameters"):
            if own == "weight":
                layers.append(owner)
        elif _GAIN.search(own) or (own == "weight" and network.get_parameter(name).ndim > 1):
            layers.append(name)
    return tuple(dict.fromkeys(layers))


def is_mute(run: nn.Module, x: Tensor, t: Tensor) -> bool:
    """Whether no weight reaches the output, which then stays the same if all of them are moved.

    Weights that start at zero are not moved. At most biases are then in the output: the last layer
    of CSDI and DiffWave has a zero weight and a random bias.

    Args:
        run: the network, adapted or not.
        x: an input that is not zero, (1, *shape).
        t: its timestep, (1,).
    """
    network = module_inside(run)
    weights = [
        name
        for name, parameter in network.named_parameters()
        if _is_matrix(parameter) and bool(parameter.detach().any())
    ]
    if not weights:  # none at all, or only zero layers
        return bool(zero_layers(network))
    before = _output(run, x, t)
    with moved(network, weights, zeros_too=False):
        return torch.equal(before, _output(run, x, t))


@torch.no_grad()
def _output(run: nn.Module, x: Tensor, t: Tensor) -> Tensor:
    """The output of a network whose parameters we changed; NaN if it fails with them."""
    try:
        return run(x.clone(), t)
    except Exception:
        return torch.full((1,), math.nan)


def _is_matrix(parameter: Tensor) -> bool:
    """Whether a parameter is a weight, and not a bias or gain of any shape."""
    return sum(n > 1 for n in parameter.shape) > 1


def silence_of(run: nn.Module, x: Tensor, t: Tensor) -> Silence | None:
    """Why no weight of a noise predictor reaches its output; None if zeros are not the reason.

    Args:
        run: the network, adapted or not; layers are named as in the module inside.
        x: an input that is not zero, (1, *shape).
        t: its timestep, (1,).
    """
    network = module_inside(run)

    def output() -> tuple[Tensor]:
        return (_output(run, x, t),)

    zeros = tuple(zero_parameters(network))
    if not is_mute(run, x, t):
        return None
    with moved(network, zeros):
        if is_mute(run, x, t):  # the zeros are not the reason
            return None
    behind = affecting(network, zeros, output)
    layers = _as_layers(network, [name for name in zeros if name in behind])
    others = [n for n, _ in network.named_parameters() if n not in zeros]
    biased = bool(affecting(network, others, output))
    return Silence(layers, tuple(dict.fromkeys((*zero_layers(network), *layers))), biased)


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


def redrawn(family: ScoreFamily, names: tuple[str, ...]) -> ScoreFamily:
    """The family with the named layers redrawn and the named gains set to one."""
    return replace(family, factory=redrawing(family.factory, names))


def is_named(family: ScoreFamily, fingerprint: str, names: tuple[str, ...]) -> bool:
    """Whether a fingerprint is that of a family, or of the family with the named layers redrawn."""
    if family.fingerprint == fingerprint:
        return True
    try:
        return bool(names) and redrawn(family, names).fingerprint == fingerprint
    except NetworkError:  # it has no such layers
        return False


def _made_and_redrawn(factory: Callable[[], Any], names: tuple[str, ...]) -> Any:
    network = factory()
    for name in names:
        redraw(network, name)
    return network


@torch.no_grad()
def redraw(network: nn.Module, name: str) -> None:
    """Give a layer its own default initialisation, or a gain the value one.

    A bias that does not start at zero was chosen by the network's author, and stays.
    """
    owner, _, own = name.rpartition(".")
    holder = network.get_submodule(owner)
    target = getattr(holder, own)
    if isinstance(target, nn.Module):
        if not _has_random_bias(target):
            target.reset_parameters()  # pyright: ignore[reportCallIssue]
            return
        target, own = target.get_parameter("weight"), "weight"
    if target.ndim > 1 and not _GAIN.search(own):
        bound = 1 / math.sqrt(fans(target)[0])  # torch's default for linear and convolution layers
        target.uniform_(-bound, bound)
    else:
        target.fill_(1.0)


def _has_random_bias(layer: nn.Module) -> bool:
    bias = dict(layer.named_parameters(recurse=False)).get("bias")
    if bias is None:
        return False
    with unseen():  # a parameter whose values were read would count as of unknown distribution
        return bool(bias.any())
