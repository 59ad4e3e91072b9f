"""The last layer of any module, found by watching its forward pass (`tracing`).

The last layer is the last call u = W h + b whose output reaches the network's output, and the
output must depend on it by

    eps = a + s D Q u,                                                                   (*)

where a and the number s may depend on the network, its input and the timestep, but not on W and b.
Q and D are fixed: Q is a *selection*, eps_i = a_i + s d_i u[selection_i] (reshapes, patches,
channels left out), and D is a factor for each entry, of mean square one; if all are equal, s
contains them. Replacing u by chosen values reveals everything about (*): u = 0 gives a, other
values give Q, D and s, and show whether (*) holds.

A bias may also be added after the call (EDM). It is found by moving parameters of the right size,
and belongs to the layer if moving it acts like moving u.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..randomness import torch_stream
from .last_layer_effect import AFFINE, check_fixed, selection_of
from .members import LARGEST_SMALL, parameter_bytes
from .parameter_dependence import affecting
from .tracing import LINEAR, Call, NoLastLayer, count_calls, in_place_of, read
from .trunk_replay import kept_trunks

LOOKED_AT = 8  # calls from the end that are tried, since some have no effect on the output
CANDIDATES = 8  # parameters tried as a bias that is added after the call


@dataclass(frozen=True)
class LastLayer:
    """Where the last layer is called, and what follows it.

    Attributes:
        index: number of the call in a forward pass.
        weight: names of the parameters from which W is made.
        bias: names of the parameters from which b is made.
        late: whether b is one parameter that is added after the call.
        size: entries of u for one sample.
        selection: index into u of each entry of a sample; None if (*) does not hold.
        gains: D, one factor for each entry of a sample; None if all are equal.
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
        """Random signs that replace u; nothing else in an output looks like them."""
        return _signs(self.size)

    @property
    def pattern(self) -> Tensor:
        """D Q applied to these signs; s times it is their effect on a flat sample."""
        if self.selection is None:
            raise NoLastLayer("its last layer reaches the output through a map that mixes entries")
        chosen = self.trial[self.selection]
        return chosen if self.gains is None else chosen * self.gains

    def scale_of(self, effect: Tensor) -> Tensor:
        """The number s of each sample, from what these signs change in its output (N, *shape)."""
        pattern = self.pattern.to(effect)
        return effect.flatten(1) @ pattern / pattern.square().sum()


def _signs(size: int) -> Tensor:
    generator = torch_stream(0, "signs in the place of a last layer")
    return 2.0 * torch.randint(2, (size,), generator=generator) - 1


@torch.no_grad()
def scales_at(network: nn.Module, x: Tensor, t: Tensor, layer: LastLayer) -> Tensor:
    """The number s of (*) for inputs x (N, *shape) at t (N,): (N,)."""
    constant, _ = read(network, x, t, layer.index)
    output, _ = read(network, x, t, layer.index, in_place_of(layer.trial))
    return layer.scale_of((output - constant).double())


@torch.no_grad()
def find_last_layer(
    networks: list[nn.Module], x: Tensor, t: Tensor, constants: Collection[str] = ()
) -> LastLayer:
    """The last layer, with (*) verified on some networks, at inputs x (N, *shape) and t (N,).

    Args:
        networks: at least two members of a family.
        x: at least two inputs, not zero.
        t: at least two timesteps.
        constants: parameters with the same values in all networks.

    Raises:
        NoLastLayer: with the reason, if there is none or (*) does not hold.
    """
    first, one, step = networks[0], x[:1], t[:1]
    index, call = _last_with_effect(first, one, step)
    if call.weight.is_complex():  # its real part is no multiple of the features' real part
        raise NoLastLayer("its last layer is complex")
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
        selection, gains, reference = selection_of(first, one, step, index)
    steady, varies = check_fixed(networks, x, t, index, reference)
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
    """Names of the parameters from which the last layer's weight or bias is made."""
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
    """Set a parameter to zero inside the block."""
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
    """The parameter that is added to the call's output, one value for each channel, if any."""
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
    """Refuse parameters of the last layer that also act elsewhere, in a, s or h."""

    def observe() -> tuple[Tensor, ...]:
        with without(network, late):
            constant, call = read(network, x, t, index)
            output, _ = read(network, x, t, index, in_place_of(_signs(call.u.numel())))
        return call.h.clone(), constant, output

    kept = kept_trunks()
    large = parameter_bytes(network) > LARGEST_SMALL
    if kept is not None and large and kept.used_elsewhere(network, x, t, index, own) is False:
        return  # more passes of a large network take long, and what each call reads was recorded
    shared = affecting(network, sorted(own), observe)
    if shared:
        names = ", ".join(name.removeprefix("network.") for name in sorted(shared))
        raise NoLastLayer(f"{names} of its last layer is used elsewhere too")
