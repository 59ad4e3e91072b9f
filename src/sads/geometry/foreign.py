"""How networks are read that declare nothing about themselves.

The last layer is found by tracing (`networks.tracing`), its weight distribution measured
(`networks.weights`), and what follows it is verified to be eps = a(x, t) + s_t Q u. If u's entries
land in the sample so that Q (A (x) I) Q^T is one of the known structures, the layer is integrated
exactly; if Q is another rearrangement or the layer an unusual convolution, several random last
layers are drawn for each network; otherwise the output is sampled as it is, and the reason is kept.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..directions import Structure
from ..networks.last_layer import LastLayer, find_last_layer, last_parameters
from ..networks.tracing import CONVOLUTIONS, LINEAR, Call, NoLastLayer, read
from ..networks.weights import check_not_copied, last_layer_variances
from .members import Members
from .probes import Probe
from .readout import ReadOut, sampled
from .tail import Tail, converted_tail, measured_tail

RANDOM_LAYERS = 32
ENTRIES_MEASURED = 20_000  # that tell a variance of unknown distribution to one per cent
FEWEST_BUILT, MOST_BUILT = 4, 256  # networks built for it
LARGE = 16 * 2**20  # bytes of parameters from which on building networks is dear


@dataclass(frozen=True)
class RandomLayers:
    """Draws last layers of the measured variance and applies them to features."""

    call: Call
    selection: Tensor
    weight_variance: float
    bias_variance: float

    def outputs(
        self, h: Float[Tensor, "N ..."], rng: np.random.Generator
    ) -> Float[Tensor, "N r D"]:
        """Outputs z = Q u of `RANDOM_LAYERS` last layers for each network's features."""
        found = [torch.stack([self._one(own, rng) for _ in range(RANDOM_LAYERS)]) for own in h]
        return torch.stack(found)

    def _one(self, h: Tensor, rng: np.random.Generator) -> Tensor:
        def draw(like: Tensor, variance: float) -> Tensor:
            noise = rng.standard_normal(tuple(like.shape)) * np.sqrt(variance)
            return torch.from_numpy(noise).to(h)

        weight = draw(self.call.weight, self.weight_variance)
        bias = None if self.call.bias is None else draw(self.call.bias, self.bias_variance)
        h = h if self.call.function is LINEAR else h[None]
        u = self.call.function(h, weight, bias, **self.call.options)
        return u.flatten()[self.selection.to(u.device)]


@dataclass(frozen=True)
class Reading:
    """How a family is read.

    Attributes:
        readout: what is accumulated.
        tail: what follows the last layer, or the whole output.
        layer: the last layer; None where outputs are sampled.
        random: draws last layers, for the read-out `random`.
        note: why the last layer is not integrated exactly; empty where it is.
    """

    readout: ReadOut
    tail: Tail
    layer: LastLayer | None
    random: RandomLayers | None
    note: str


def plain_reading(
    members: Members, probe: Probe, note: str, weights: Float[np.ndarray, " T"]
) -> Reading:
    """Outputs as they are; `weights` are the probability times the weight of each timestep."""
    tail = converted_tail(members.networks[0], members.family, probe, weights)
    return Reading(sampled(members.family.shape), tail, None, None, note)


@torch.no_grad()
def read_foreign(
    members: Members, probe: Probe, weights: Float[np.ndarray, " T"], rng: np.random.Generator
) -> Reading:
    """Settle how a family is read that declares nothing."""
    try:
        return _read_last_layer(members, probe, weights, rng)
    except NoLastLayer as why:
        return plain_reading(members, probe, str(why), weights)


def _read_last_layer(
    members: Members, probe: Probe, weights: Float[np.ndarray, " T"], rng: np.random.Generator
) -> Reading:
    family = members.family
    x = torch.from_numpy(rng.standard_normal((2, *family.shape), dtype=np.float32))
    used = np.flatnonzero(weights)
    t = rng.choice(used, size=2, replace=len(used) < 2)
    steps = torch.from_numpy(t)
    layer = find_last_layer(members.networks, x, steps)
    if layer.selection is None:
        raise NoLastLayer("its last layer reaches the output through a map that mixes entries")
    s_w, s_b = _variances(members, layer, x[:1], steps[:1], rng)
    call = _last_call(members.networks[0], layer, x[:1], steps[:1])
    first = members.networks[0]
    made_of = last_parameters(first, layer.name, x[:1], steps[:1], layer.index)
    check_not_copied(first, call.weight, made_of)
    inputs = probe.draw(t, family.shape, family.schedule, rng)
    tail = measured_tail(members.networks, layer, family, probe, weights, (x, inputs, steps))
    shape, width = family.shape, features_width(call)
    extra: dict[str, Any] = {"floor": tail.floor, "constant": tail.constant}
    found = arrangement(call, layer.selection, shape)
    if found is None:
        random = RandomLayers(call, layer.selection, s_w, s_b)
        readout = ReadOut("random", shape, RANDOM_LAYERS, **extra)
        return Reading(readout, tail, layer, random, "its last layer is an unusual one")
    # Beside a constant part the timesteps are not drawn in proportion to s_t^2 alone.
    s_b *= tail.bias_share
    kernel = () if call.function is LINEAR else tuple(call.weight.shape[2:])
    readout = ReadOut(found.kind, shape, width, s_w, s_b, kernel, **found.fields, **extra)
    return Reading(readout, tail, layer, None, "")


def _last_call(network: nn.Module, layer: LastLayer, x: Tensor, t: Tensor) -> Call:
    return read(network, x, t, layer.index)[1]


def _variances(
    members: Members, layer: LastLayer, x: Tensor, t: Tensor, rng: np.random.Generator
) -> tuple[float, float]:
    """s_w^2 and s_b^2; where their distribution is not known, more networks are built."""
    weight, bias = (
        members.known.get(f"{layer.name}.{part}") if layer.name else None
        for part in ("weight", "bias")
    )
    calls = [_last_call(network, layer, x, t) for network in members.networks]
    unknown = weight is None or (bias is None and calls[0].bias is not None)
    # By the weights of one output: biases are as many times fewer, and need the networks.
    wanted = ENTRIES_MEASURED // calls[0].weight[0].numel()
    most = FEWEST_BUILT if members.size > LARGE else MOST_BUILT
    extra = min(max(wanted, FEWEST_BUILT), most)
    for _ in range(extra if unknown else 0):
        member = members.family.member(int(rng.integers(2**62))).eval()
        calls.append(_last_call(member, layer, x, t))
    return last_layer_variances(calls, weight, bias)


def features_width(call: Call) -> int:
    """Features that each entry of the last layer's output reads, without the kernel."""
    return int(call.h.shape[-1] if call.function is LINEAR else call.h.shape[1])


@dataclass(frozen=True)
class Arrangement:
    """A kind of read-out and the fields that place its output in the sample."""

    kind: str
    fields: dict[str, Any]


def arrangement(call: Call, selection: Tensor, shape: tuple[int, ...]) -> Arrangement | None:
    """The structure that the last layer imposes on the sample; None if it is not a known one."""
    if call.function is LINEAR:
        copies = call.u.shape[-1]
        tokens = call.u.numel() // copies
        row, copy = selection // copies, selection % copies
    elif is_plain_convolution(call):
        tokens = call.u[0, 0].numel()
        row, copy = selection % tokens, selection // tokens
    else:
        return None
    for structure in _candidates(shape, tokens):
        entries = torch.from_numpy(structure.entries)
        rows_fit = bool((row[entries] == torch.arange(tokens)[:, None]).all())
        own = copy[entries]
        if rows_fit and bool((own == own[0]).all()) and len(own[0].unique()) == len(own[0]):
            return _named(call, structure)
    return None


def _named(call: Call, structure: Structure) -> Arrangement | None:
    if call.function is LINEAR:
        kind = "dense" if structure.kind == "isotropic" else "tokens"
        return Arrangement(kind, {"patch": structure.patch, "arrangement": structure.kind})
    sides = structure.shape[1:] if len(structure.shape) > 1 else structure.shape
    if tuple(call.u.shape[2:]) != tuple(n // structure.patch for n in sides):
        return None
    fields = {"patch": structure.patch, "arrangement": structure.kind}
    return Arrangement("convolution", fields)


def _candidates(shape: tuple[int, ...], tokens: int) -> list[Structure]:
    """Structures with as many rows as the last layer has tokens or positions."""
    sides = shape[1:] if len(shape) > 1 else shape
    patches = [p for p in range(2, min(sides) + 1) if all(n % p == 0 for n in sides)]
    found = [Structure(kind, shape) for kind in ("isotropic", "channels", "dense")]
    found += [Structure("tokens", shape, p) for p in patches]
    return [s for s in found if s.rows == tokens]


def is_plain_convolution(call: Call) -> bool:
    """Stride one, no dilation, no groups, zero padding that keeps the size, odd kernel."""
    if call.function not in CONVOLUTIONS:
        return False
    axes = call.weight.ndim - 2
    usual = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
    stride, padding, dilation, groups = (call.options.get(n, usual[n]) for n in usual)
    kernel = tuple(call.weight.shape[2:])

    def each(value: Any) -> tuple[int, ...]:
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes

    keeps = padding == "same" or each(padding) == tuple(k // 2 for k in kernel)
    odd = all(k % 2 for k in kernel)
    return keeps and odd and set(each(stride) + each(dilation) + (groups,)) == {1}
