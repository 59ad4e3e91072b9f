"""The last layer of any module, found by watching its forward pass (`tracing`).

The last layer is the last call u = W h + b whose output reaches the network's output, and the
output must depend on it by

    eps = a(x, t) + s_t Q u,                                                             (*)

Q fixed for all networks, inputs and timesteps, s_t a number. Putting chosen values in the place of
u tells everything about (*): u = 0 gives a, the others give Q and s_t, and whether (*) holds.

`Q` is known either as a *selection*, eps_i = a_i + s_t u[selection_i] (reshapes, patches, channels
left out), or not further.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..randomness import torch_stream
from .adapters.calls import Adapted
from .tracing import LINEAR, Call, NoLastLayer, count_calls, read

LOOKED_AT = 8  # calls from the end that may turn out to have no effect on the output
AFFINE = 1e-4  # relative deviation from (*) allowed in float32
NOT_FIXED = "the map from its last layer to its output is not the same for all networks and inputs"


@dataclass(frozen=True)
class LastLayer:
    """Where the last layer is called, and what follows it.

    Attributes:
        index: number of the call in a forward pass.
        name: of the layer, where its weight is a parameter of the network.
        size: entries of u for one sample.
        selection: index into u of each entry of a sample; None where Q is no selection.
        varies: whether s_t depends on the timestep beyond what the conversion to noise explains.
    """

    index: int
    name: str | None
    size: int
    selection: Tensor | None
    varies: bool


@torch.no_grad()
def scales_at(network: nn.Module, x: Tensor, t: Tensor, layer: LastLayer) -> Tensor:
    """s_t of (*) for inputs x (N, *shape) at t (N,), a selection Q assumed: (N,)."""
    constant, _ = read(network, x, t, layer.index)
    ones, _ = read(network, x, t, layer.index, torch.ones_like)
    return (ones - constant).double().flatten(1).mean(1)


def known_scales(network: nn.Module, t: Tensor) -> Tensor:
    """The part of s_t that comes from converting a prediction to noise, at t (N,): (N,)."""
    if isinstance(network, Adapted):
        return network.get_buffer("scale")[t].double()
    return torch.ones(len(t), dtype=torch.float64)


@torch.no_grad()
def find_last_layer(networks: list[nn.Module], x: Tensor, t: Tensor) -> LastLayer:
    """The last layer, with (*) verified on some networks, at inputs x (N, *shape) and t (N,).

    Args:
        networks: at least two members of a family.
        x: at least two inputs, not zero.
        t: as many timesteps.

    Raises:
        NoLastLayer: with the reason, if there is none or (*) does not hold.
    """
    first, one, step = networks[0], x[:1], t[:1]
    index, call = _last_with_effect(first, one, step)
    if call.function is not LINEAR and len(call.h) != 1:
        raise NoLastLayer("the last convolution mixes samples and channels")
    name = layer_name(first, call.weight)
    _check_not_shared(first, name, one, step, index)
    selection, reference = _selection(first, one, step, index)
    varies = _check_fixed(networks, x, t, index, reference)
    return LastLayer(index, name, call.u.numel(), selection, varies)


def _last_with_effect(network: nn.Module, x: Tensor, t: Tensor) -> tuple[int, Call]:
    count = count_calls(network, x, t)
    if not count:
        raise NoLastLayer("it calls no linear or convolution layer of torch")
    for index in reversed(range(max(0, count - LOOKED_AT), count)):
        without, call = read(network, x, t, index)
        with_ones, _ = read(network, x, t, index, torch.ones_like)
        if not torch.equal(without, with_ones):
            return index, call
    raise NoLastLayer("no linear or convolution layer reaches its output")


def layer_name(network: nn.Module, weight: Tensor) -> str | None:
    """The layer that owns a weight; None if the weight is computed from parameters."""
    for name, parameter in network.named_parameters():
        if parameter is weight:
            return name.rpartition(".")[0]
    return None


def _check_not_shared(
    network: nn.Module, name: str | None, x: Tensor, t: Tensor, index: int
) -> None:
    """The last layer's parameters must not act elsewhere, or h would depend on them."""
    own = last_parameters(network, name, x, t, index)
    kept = {n: p.requires_grad for n, p in network.named_parameters()}
    try:
        for n, parameter in network.named_parameters():
            parameter.requires_grad_(n in own)
        with torch.enable_grad():
            constant, call = read(network, x, t, index)
        if call.h.requires_grad or constant.requires_grad:
            raise NoLastLayer("the weight of its last layer is used elsewhere too")
    finally:
        for n, parameter in network.named_parameters():
            parameter.requires_grad_(kept[n])


def last_parameters(
    network: nn.Module, name: str | None, x: Tensor, t: Tensor, index: int
) -> set[str]:
    """Names of the parameters from which the last layer's weight and bias come."""
    if name is not None:
        return {n for n, _ in network.named_parameters() if n.rpartition(".")[0] == name}
    parameters = dict(network.named_parameters())
    kept = {n: p.requires_grad for n, p in parameters.items()}
    try:
        for parameter in parameters.values():
            parameter.requires_grad_(parameter.is_floating_point())
        with torch.enable_grad():
            _, call = read(network, x, t, index)
            made_of = [
                v.sum() for v in (call.weight, call.bias) if v is not None and v.requires_grad
            ]
            if not made_of:
                return set()
            total = torch.stack([m.reshape(()) for m in made_of]).sum()
            grads = torch.autograd.grad(total, list(parameters.values()), allow_unused=True)
        return {n for n, g in zip(parameters, grads, strict=True) if g is not None}
    finally:
        for n, parameter in parameters.items():
            parameter.requires_grad_(kept[n])


@dataclass(frozen=True)
class _Reference:
    """The effect Q e of a fixed random e, to which other networks and timesteps are compared."""

    e: Tensor
    effect: Tensor


def _effect(network: nn.Module, x: Tensor, t: Tensor, index: int, e: Tensor) -> Tensor:
    """Q e, times the part of s_t that the conversion to noise does not explain."""
    constant, call = read(network, x, t, index)
    if call.u.numel() != e.numel():
        raise NoLastLayer("the size of its last layer changes from pass to pass")
    output, _ = read(network, x, t, index, lambda u: e.view(u.shape).to(u))
    return (output - constant).double() / known_scales(network, t).to(output.device)


def _check_fixed(
    networks: list[nn.Module], x: Tensor, t: Tensor, index: int, reference: _Reference
) -> bool:
    """Whether s_t varies; Q and s_t must be the same for another network and another input."""

    def ratio(network: int, i: int, step: int) -> float:
        at = x[i : i + 1], t[step : step + 1]
        return _ratio(_effect(networks[network], *at, index, reference.e), reference)

    first = 1.0, ratio(1, 0, 0), ratio(0, 1, 0)  # the reference is of network 0 at x_0, t_0
    second = ratio(0, 0, 1), ratio(1, 1, 1)
    for found in (first, second):
        if max(found) - min(found) > AFFINE * max(map(abs, found)):
            raise NoLastLayer(NOT_FIXED)
    return abs(second[0] - 1) > AFFINE


def _ratio(effect: Tensor, reference: _Reference) -> float:
    """The factor between an effect and the reference's; raises where it is not only a factor."""
    own = reference.effect
    ratio = float((effect * own).sum() / own.square().sum())
    if not torch.allclose(effect, ratio * own, rtol=0, atol=AFFINE * float(effect.abs().max())):
        raise NoLastLayer(NOT_FIXED)
    return ratio


def _selection(
    network: nn.Module, x: Tensor, t: Tensor, index: int
) -> tuple[Tensor | None, _Reference]:
    """Q as a selection, if it is one, and a reference effect; raises where (*) does not hold."""
    constant, call = read(network, x, t, index)
    size = call.u.numel()
    generator = torch_stream(0, "effect of a last layer")

    def effect(e: Tensor) -> Tensor:
        return _effect(network, x, t, index, e)

    e, f = (torch.randn(size, generator=generator) for _ in range(2))
    of_e, of_f = effect(e), effect(f)
    both = effect(e + 3 * f)
    allowed = AFFINE * float(torch.maximum(both.abs().max(), constant.abs().max()))
    if not torch.allclose(both, of_e + 3 * of_f, rtol=0, atol=allowed):
        raise NoLastLayer("its output is not an affine function of its last layer")
    reference = _Reference(e, of_e)
    base = math.isqrt(size) + 1
    numbers = torch.arange(size)
    scale = effect(torch.ones(size))
    low, high = effect((numbers % base).float()), effect((numbers // base).float())
    if bool((scale == 0).any()):
        return None, reference
    found = ((low / scale).round() + base * (high / scale).round()).long().flatten()
    if bool(((found < 0) | (found >= size)).any()):
        return None, reference
    s = float(scale.mean())
    expected = s * e.double()[found].view(of_e.shape)
    holds = torch.allclose(of_e, expected, rtol=0, atol=AFFINE * float(of_e.abs().max()))
    return (found if holds else None), reference
