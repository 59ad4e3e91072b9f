"""The last layer of any module, found by watching its forward pass (`tracing`).

The last layer is the last call u = W h + b whose output reaches the network's output, and the
output must depend on it by

    eps = a + s D Q u,                                                                   (*)

where a and the number s may depend on the network, its input and the timestep, but not on W and b.
Q and D are fixed: Q is a *selection*, eps_i = a_i + s d_i u[selection_i] (reshapes, patches,
channels left out), and D a factor for each entry, of mean square one. Where D is not needed all of
it is in s. Putting chosen values in the place of u tells everything about (*): u = 0 gives a, the
others give Q, D and s, and whether (*) holds.

A bias may also be added after the call (EDM). It is found by moving parameters of the right size,
and belongs to the layer if that has the effect of moving u.
"""

import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..networks.adapters.calls import Adapted
from ..randomness import torch_stream
from .members import LARGEST_SMALL, parameter_bytes
from .parameter_dependence import affecting
from .tracing import LINEAR, Call, NoLastLayer, count_calls, in_place_of, read
from .trunk_replay import kept_trunks

LOOKED_AT = 8  # calls from the end that may turn out to have no effect on the output
CANDIDATES = 8  # parameters tried as a bias that is added after the call
AFFINE = 1e-4  # relative deviation from (*) allowed in float32
ROUNDINGS = 8  # of the largest number in an output, that equal outputs may differ by
NOT_FIXED = "the map from its last layer to its output is not the same for all networks and inputs"


@dataclass(frozen=True)
class LastLayer:
    """Where the last layer is called, and what follows it.

    Attributes:
        index: number of the call in a forward pass.
        weight: names of the parameters that W is made of.
        bias: names of those that b is made of.
        late: whether b is one parameter that is added after the call.
        size: entries of u for one sample.
        selection: index into u of each entry of a sample; None where (*) does not hold.
        gains: D, one factor for each entry of a sample; None where all are alike.
        steady: whether s is the same for all networks and inputs.
        varies: whether s depends on the timestep beyond what the conversion to noise explains.
    """

    index: int
    weight: frozenset[str]
    bias: frozenset[str]
    late: bool
    size: int
    selection: Tensor | None
    gains: Tensor | None
    steady: bool
    varies: bool

    @property
    def late_bias(self) -> str | None:
        """The parameter that is added after the call, if there is one."""
        return next(iter(self.bias)) if self.late else None

    @property
    def trial(self) -> Tensor:
        """Signs to put in the place of u, which nothing else in an output looks like."""
        return _signs(self.size)

    @property
    def pattern(self) -> Tensor:
        """D Q applied to these signs: what a flat sample is then made of, times s."""
        if self.selection is None:
            raise NoLastLayer("its last layer reaches the output through a map that mixes entries")
        chosen = self.trial[self.selection]
        return chosen if self.gains is None else chosen * self.gains


def _signs(size: int) -> Tensor:
    generator = torch_stream(0, "signs in the place of a last layer")
    return 2.0 * torch.randint(2, (size,), generator=generator) - 1


@torch.no_grad()
def scales_at(network: nn.Module, x: Tensor, t: Tensor, layer: LastLayer) -> Tensor:
    """The number s of (*) for inputs x (N, *shape) at t (N,): (N,)."""
    constant, _ = read(network, x, t, layer.index)
    output, _ = read(network, x, t, layer.index, in_place_of(layer.trial))
    pattern = layer.pattern.to(output.device).double()
    return (output - constant).double().flatten(1) @ pattern / pattern.square().sum()


def known_scales(network: nn.Module, t: Tensor) -> Tensor:
    """The part of s that comes from converting a prediction to noise, at t (N,): (N,)."""
    if isinstance(network, Adapted):
        return network.get_buffer("scale")[t].double()
    return torch.ones(len(t), dtype=torch.float64)


@torch.no_grad()
def find_last_layer(
    networks: list[nn.Module], x: Tensor, t: Tensor, constants: Collection[str] = ()
) -> LastLayer:
    """The last layer, with (*) verified on some networks, at inputs x (N, *shape) and t (N,).

    Args:
        networks: at least two members of a family.
        x: at least two inputs, not zero.
        t: at least two timesteps.
        constants: parameters that are the same numbers in all networks.

    Raises:
        NoLastLayer: with the reason, if there is none or (*) does not hold.
    """
    first, one, step = networks[0], x[:1], t[:1]
    index, call = _last_with_effect(first, one, step)
    weight, bias = (
        frozenset(_made_of(first, call, part, (one, step, index)) - set(constants))
        for part in ("weight", "bias")
    )
    late = None
    if call.bias is None:
        late = _late_bias(first, call, one, step, index, set(constants) | weight)
        bias = frozenset() if late is None else frozenset({late})
    _check_not_shared(first, weight | bias, one, step, index, late)
    with without(first, late):
        selection, gains, reference = _selection(first, one, step, index)
    steady, varies = _check_fixed(networks, x, t, index, reference)
    return LastLayer(
        index, weight, bias, late is not None, call.u.numel(), selection, gains, steady, varies
    )


def _last_with_effect(network: nn.Module, x: Tensor, t: Tensor) -> tuple[int, Call]:
    count = count_calls(network, x, t)
    if not count:
        raise NoLastLayer("it calls no linear or convolution layer of torch")
    for index in reversed(range(max(0, count - LOOKED_AT), count)):
        without_it, call = read(network, x, t, index)
        with_ones, _ = read(network, x, t, index, torch.ones_like)
        if not torch.equal(without_it, with_ones):
            return index, call
    raise NoLastLayer("no linear or convolution layer reaches its output")


def _made_of(network: nn.Module, call: Call, part: str, at: tuple[Tensor, Tensor, int]) -> set[str]:
    """Names of the parameters from which the last layer's weight or bias comes."""
    own = getattr(call, part)
    if own is None:
        return set()
    parameters = dict(network.named_parameters())
    itself = {name for name, parameter in parameters.items() if parameter is own}

    def observe() -> tuple[Tensor]:
        return (getattr(read(network, *at)[1], part).detach().clone(),)

    return itself or affecting(network, list(parameters), observe)


def channels_last(call: Call, values: Tensor) -> Tensor:
    """One value for each output channel, in the shape of u."""
    if call.function is LINEAR:
        return values.expand(call.u.shape)
    return values.view(-1, *(1,) * (call.u.ndim - 2)).expand(call.u.shape)


@contextmanager
def without(network: nn.Module, parameter: str | None) -> Iterator[None]:
    """A parameter at zero while the block lasts."""
    if parameter is None:
        yield
        return
    value = network.get_parameter(parameter)
    kept = value.detach().clone()
    try:
        with torch.no_grad():
            value.zero_()
        yield
    finally:
        with torch.no_grad():
            value.copy_(kept)


def _late_bias(
    network: nn.Module, call: Call, x: Tensor, t: Tensor, index: int, others: set[str]
) -> str | None:
    """The parameter that is added to the call's output afterwards, one value a channel, if any."""
    channels = call.u.shape[-1] if call.function is LINEAR else call.u.shape[1]
    fitting = [
        name
        for name, parameter in network.named_parameters()
        if name not in others and parameter.numel() == channels and parameter.is_floating_point()
    ]
    values = _signs(channels)
    everywhere = channels_last(call, values).flatten()
    for name in fitting[::-1][:CANDIDATES]:
        parameter = network.get_parameter(name)
        with without(network, name):
            plain, before = read(network, x, t, index)
            through_u, _ = read(network, x, t, index, in_place_of(everywhere))
            with torch.no_grad():
                parameter.copy_(values.view(parameter.shape))
            added, after = read(network, x, t, index)
        effect = (through_u - plain).double()
        allowed = AFFINE * float(effect.abs().max())
        alike = torch.allclose((added - plain).double(), effect, rtol=0, atol=allowed)
        if alike and torch.equal(before.h, after.h):
            return name
    return None


def _check_not_shared(
    network: nn.Module, own: frozenset[str], x: Tensor, t: Tensor, index: int, late: str | None
) -> None:
    """The last layer's parameters must not act elsewhere, or a, s and h would depend on them."""

    def observe() -> tuple[Tensor, ...]:
        with without(network, late):
            constant, call = read(network, x, t, index)
            output, _ = read(network, x, t, index, in_place_of(_signs(call.u.numel())))
        return call.h.clone(), constant, output

    kept = kept_trunks()
    large = parameter_bytes(network) > LARGEST_SMALL
    if kept is not None and large and kept.used_elsewhere(network, x, t, index, own) is False:
        return  # more passes of a large network take long; what each call looks at was recorded
    shared = affecting(network, sorted(own), observe)
    if shared:
        names = ", ".join(name.removeprefix("network.") for name in sorted(shared))
        raise NoLastLayer(f"{names} of its last layer is used elsewhere too")


@dataclass(frozen=True)
class _Effect:
    """What values in the place of u do to the output.

    The output is a difference of numbers as large as its constant part. Where that is much larger
    than the effect, at very noisy timesteps of a preconditioned network, rounding is not small.

    Attributes:
        values: s D Q e, without the part of s that the conversion to noise explains.
        allowed: how far equal effects may differ.
    """

    values: Tensor
    allowed: float


@dataclass(frozen=True)
class _Reference:
    """The effect D Q e of a fixed random e, to which other networks and timesteps are compared."""

    e: Tensor
    effect: _Effect


def _effect(network: nn.Module, x: Tensor, t: Tensor, index: int, e: Tensor) -> _Effect:
    constant, call = read(network, x, t, index)
    if call.u.numel() != e.numel():
        raise NoLastLayer("the size of its last layer changes from pass to pass")
    output, _ = read(network, x, t, index, in_place_of(e))
    known = known_scales(network, t).to(output.device)
    values = (output - constant).double() / known
    largest = max(float(v.abs().max()) for v in (output, constant, x))
    rounding = ROUNDINGS * torch.finfo(output.dtype).eps * largest / float(known.abs().min())
    return _Effect(values, AFFINE * float(values.abs().max()) + rounding)


def _check_fixed(
    networks: list[nn.Module], x: Tensor, t: Tensor, index: int, reference: _Reference
) -> tuple[bool, bool]:
    """Whether s is steady, and whether it varies; everything else must be the same always."""

    def ratio(network: nn.Module, i: int, step: int) -> tuple[float, float]:
        at = x[i : i + 1], t[step : step + 1]
        return _ratio(_effect(network, *at, index, reference.e), reference)

    first, last = networks[0], networks[-1]
    itself = (1.0, 0.0)
    at_first = [itself, ratio(first, 1, 0), *(ratio(other, 0, 0) for other in networks[1:])]
    over_time = [ratio(first, 0, step) for step in range(1, len(t))]
    steady = _equal(at_first) and _equal([over_time[0], ratio(last, 1, 1)])
    return steady, not _equal([itself, *over_time])


def _equal(ratios: list[tuple[float, float]]) -> bool:
    """Whether ratios are equal within what each of them allows."""
    values, allowed = zip(*ratios, strict=True)
    return max(values) - min(values) <= max(AFFINE * max(map(abs, values)), *allowed)


def _ratio(effect: _Effect, reference: _Reference) -> tuple[float, float]:
    """The factor between an effect and the reference's, and how far equal ones may differ.

    Raises:
        NoLastLayer: where the two do not differ by a factor alone.
    """
    own = reference.effect
    ratio = float((effect.values * own.values).sum() / own.values.square().sum())
    allowed = effect.allowed + abs(ratio) * own.allowed
    if not torch.allclose(effect.values, ratio * own.values, rtol=0, atol=allowed):
        raise NoLastLayer(NOT_FIXED)
    return ratio, allowed / float(own.values.square().mean().sqrt())


def _selection(
    network: nn.Module, x: Tensor, t: Tensor, index: int
) -> tuple[Tensor | None, Tensor | None, _Reference]:
    """Q and D, where (*) holds, and a reference effect; raises where nothing affine does."""
    size = read(network, x, t, index)[1].u.numel()
    generator = torch_stream(0, "values in the place of a last layer")

    def effect(e: Tensor) -> _Effect:
        return _effect(network, x, t, index, e)

    e, f = (torch.randn(size, generator=generator) for _ in range(2))
    of_e, of_f = effect(e), effect(f)
    both = effect(e + 3 * f)
    allowed = both.allowed + of_e.allowed + 3 * of_f.allowed
    if not torch.allclose(both.values, of_e.values + 3 * of_f.values, rtol=0, atol=allowed):
        raise NoLastLayer("its output is not an affine function of its last layer")
    reference = _Reference(e, of_e)
    base = math.isqrt(size) + 1
    numbers = torch.arange(size)
    of_ones = effect(torch.ones(size))
    scale = of_ones.values.flatten()
    digits = (numbers % base, numbers // base)
    low, high = (effect(digit.float()).values.flatten() for digit in digits)
    if bool((scale == 0).any()):
        return None, None, reference
    selected = ((low / scale).round() + base * (high / scale).round()).long()
    if bool(((selected < 0) | (selected >= size)).any()):
        return None, None, reference
    expected = scale * e.to(scale)[selected]
    allowed = of_e.allowed + of_ones.allowed * float(e.abs().max())
    if not torch.allclose(of_e.values.flatten(), expected, rtol=0, atol=allowed):
        return None, None, reference
    size_of_scale = scale.square().mean().sqrt()
    gains = scale / size_of_scale
    alike = bool((gains - gains[0]).abs().max() <= 2 * of_ones.allowed / size_of_scale)
    return selected.cpu(), None if alike else gains.float().cpu(), reference
