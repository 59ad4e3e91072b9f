"""How networks that declare nothing about themselves are read.

The last layer is found by tracing (`last_layer`), the initial distribution of its weight is
determined (`last_layer_moments`), and eps = a + s D Q u is verified for what follows it. If the
entries of u are placed in the sample so that Q (A (x) I) Q^T is one of the known structures, the
layer is integrated exactly. If Q is another rearrangement, D is needed or the layer is an unusual
convolution, several random last layers are drawn for each network. Otherwise the output is sampled
as it is, and the reason is kept.
"""

import math
from contextlib import ExitStack
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..directions.structure import Channels, Dense, Isotropic, Structure, Tokens
from ..errors import SadsError, brief
from ..networks.initialisation import Constant
from ..probes import Probe
from .after_last_layer import Tail, converted_tail, measured_tail
from .integration import RANDOM_LAYERS, Integration, LayerDraws
from .last_layer import LastLayer, find_last_layer, without
from .last_layer_moments import (
    LastValues,
    Variances,
    check_not_copied,
    exact_variance,
    last_layer_variances,
)
from .members import Members
from .reading import Reading
from .readout import Convolution, DenseLayer, PlainReadOut, RandomLayers, Sampled, TokenWise
from .tracing import CONVOLUTIONS, LINEAR, Call, NoLastLayer, read
from .trunk_replay import trunks_kept

TIMESTEPS, FEW_TIMESTEPS = 8, 3  # timesteps at which the scale of small and large networks is read
ENTRIES_CHECKED = 20_000  # weights of one output that show an unknown initial distribution
FEWEST_BUILT, MOST_BUILT = 4, 256  # networks that are built to get them


@torch.no_grad()
def read_foreign(
    members: Members, probe: Probe, weights: Float[np.ndarray, " T"], rng: np.random.Generator
) -> Reading:
    """Decide how a family that declares nothing is read.

    Args:
        members: a few of its networks.
        probe: the probe that draws their inputs.
        weights: probability times weight of each timestep.
        rng: draws the inputs of the tests.
    """
    try:
        with trunks_kept():
            return _read_last_layer(members, probe, weights, rng)
    except NoLastLayer as why:
        note = str(why)
    except SadsError:
        raise
    except Exception as error:  # other people's code may fail with our parameters and values
        note = f"it fails when looked into: {brief(error)}"
    tail = converted_tail(members.networks[0], members.family, probe, weights)
    return Reading(Sampled(members.family.shape), tail, note)


def _read_last_layer(
    members: Members, probe: Probe, weights: Float[np.ndarray, " T"], rng: np.random.Generator
) -> Reading:
    family, first = members.family, members.networks[0]
    x = torch.from_numpy(rng.standard_normal((2, *family.shape), dtype=np.float32))
    t = _timesteps(np.flatnonzero(weights), members, rng)
    steps = torch.from_numpy(t)
    constants = [n for n, known in members.known.items() if isinstance(known, Constant)]
    layer = find_last_layer(members.networks, x, steps, constants)
    if layer.selection is None:
        raise NoLastLayer("its last layer reaches the output through a map that mixes entries")
    variances = _variances(members, layer, x[:1], steps[:1], rng)
    call = read(first, x[:1], steps[:1], layer.index)[1]
    check_not_copied(first, call.weight, layer.weight)
    inputs = probe.draw(t[:2], family.shape, family.schedule, rng)
    with ExitStack() as zeroed:
        for network in members.networks:
            zeroed.enter_context(without(network, layer.late_bias))
        tail = measured_tail(members.networks, layer, family, probe, weights, (x, inputs, steps))
    placed = arrangement(call, layer.selection, family.shape) if layer.gains is None else None
    if placed is None:
        if call.function is not LINEAR and len(call.h) != 1:
            raise NoLastLayer("the last convolution mixes samples and channels")
        readout = RandomLayers(
            family.shape, RANDOM_LAYERS, floor=tail.floor, constant=tail.constant
        )
        note = "its last layer is an unusual one"
        if layer.gains is not None:
            note = "its last layer is multiplied by another factor for each entry"
        draws = LayerDraws(call, layer)
        return Integration(readout, tail, note, layer=layer, variances=variances, draws=draws)
    readout = _readout(call, placed.structure, variances, tail, steady=layer.steady)
    return Integration(readout, tail, layer=layer, variances=variances, rows=placed.rows)


def _readout(
    call: Call, structure: Structure, variances: Variances, tail: Tail, *, steady: bool
) -> PlainReadOut:
    """The read-out of a last layer that imposes a known structure."""
    # If the share of the bias differs between networks, it is added for each network.
    settled = variances.bias is None or (variances.bias > 0 and not steady)
    # With a constant part the timesteps are not drawn in proportion to s_t^2 alone.
    bias = 0.0 if settled else (variances.bias or 0.0) * tail.bias_share
    layer: type[PlainReadOut] = Convolution
    width, kernel = call.h.shape[1], tuple(call.weight.shape[2:])
    if len(call.h) != 1:  # frames are an axis of their own
        kernel = (1, *kernel)
    if call.function is LINEAR:
        layer = DenseLayer if isinstance(structure, Isotropic) else TokenWise
        width, kernel = call.h.shape[-1], ()
    return layer(
        structure.shape,
        width=int(width),
        weight_variance=1.0 if variances.weight is None else variances.weight,
        bias_variance=bias,
        kernel=kernel,
        patch=structure.patch,
        arrangement=structure.kind,
        floor=tail.floor,
        constant=tail.constant,
        settled=settled,
    )


def _timesteps(
    used: Int[np.ndarray, " n"], members: Members, rng: np.random.Generator
) -> Int[np.ndarray, " k"]:
    """A few timesteps, at least two: random ones and both ends."""
    count = TIMESTEPS if members.small else FEW_TIMESTEPS
    chosen = rng.choice(used, size=min(count - 1, len(used)), replace=False)
    t = np.concatenate([chosen, used[[0, -1]]])
    return t[np.sort(np.unique(t, return_index=True)[1])] if len(used) > 1 else t[:2]


def _variances(
    members: Members, layer: LastLayer, x: Tensor, t: Tensor, rng: np.random.Generator
) -> Variances:
    """s_w^2 and s_b^2; if they are not known, more networks are built to measure them."""
    values = [LastValues.of(network, layer, x, t) for network in members.networks]
    biases = [v.bias for v in values if v.bias is not None]
    weight = exact_variance(
        members.networks, [v.weight for v in values], layer.weight, members.known
    )
    bias = exact_variance(members.networks, biases, layer.bias, members.known) if biases else 0.0
    constant = not any(bool(b.any()) for b in biases)
    if weight is None or (bias is None and not constant):
        # Count the weights of one output: it has only one bias, so biases need more networks.
        wanted = ENTRIES_CHECKED // values[0].weight[0].numel()
        most = MOST_BUILT if members.small else FEWEST_BUILT
        for _ in range(min(max(wanted, FEWEST_BUILT), most)):
            member = members.family.member(int(rng.integers(2**62))).eval()
            with trunks_kept():  # whose end releases the network
                values.append(LastValues.of(member, layer, x, t))
    return last_layer_variances(values, weight, bias)


class Placed(NamedTuple):
    """Where the entries of a last layer's output are in the sample.

    Attributes:
        structure: the structure that it imposes on the sample.
        rows: the tokens that are used, if others are left out (those of a text); None for all.
    """

    structure: Structure
    rows: Tensor | None = None


def arrangement(call: Call, selection: Tensor, shape: tuple[int, ...]) -> Placed | None:
    """The structure that the last layer imposes on the sample; None if it is unknown."""
    linear, used = call.function is LINEAR, None
    if linear:
        copies = call.u.shape[-1]
        every = call.u.numel() // copies
        row, copy = selection // copies, selection % copies
        used, row = row.unique(return_inverse=True)
        tokens, used = len(used), None if len(used) == every else used
    elif is_plain_convolution(call):
        frames, channels, *sides = call.u.shape
        positions = math.prod(sides)
        tokens = frames * positions
        copy = selection // positions % channels
        row = selection // (positions * channels) * positions + selection % positions
    else:
        return None
    for structure in _candidates(shape, tokens):
        entries = torch.from_numpy(structure.entries)
        rows_fit = bool((row[entries] == torch.arange(tokens)[:, None]).all())
        own = copy[entries]
        if rows_fit and bool((own == own[0]).all()) and len(own[0].unique()) == len(own[0]):
            return Placed(structure, used) if linear or _same_grid(call, structure) else None
    return None


def _same_grid(call: Call, structure: Structure) -> bool:
    """Whether a convolution's positions are those of the structure, in as many axes."""
    frames, _, *sides = call.u.shape
    return (*([] if frames == 1 else [frames]), *sides) == structure.places


def _candidates(shape: tuple[int, ...], tokens: int) -> list[Structure]:
    """Structures with as many rows as the last layer has tokens or positions."""
    sides = shape[1:] if len(shape) > 1 else shape
    equal = [p for p in range(2, min(sides) + 1) if all(n % p == 0 for n in sides)]
    known = [Isotropic(shape), Channels(shape), Dense(shape), *(Tokens(shape, p) for p in equal)]
    return [structure for structure in known if structure.rows == tokens] + _oblong(shape, tokens)


def _oblong(shape: tuple[int, ...], tokens: int) -> list[Structure]:
    """Tokens of patches with unequal sides, as in videos."""
    if len(shape) < 3 or (math.prod(shape[1:]) % tokens):
        return []
    divisors = [[p for p in range(1, n + 1) if n % p == 0] for n in shape[1:]]
    patches = (patch for patch in product(*divisors) if len(set(patch)) > 1)
    known = (Tokens(shape, patch) for patch in patches)
    return [structure for structure in known if structure.rows == tokens]


def is_plain_convolution(call: Call) -> bool:
    """Whether a call has stride one, no dilation or groups, an odd kernel and keeps the size."""
    if call.function not in CONVOLUTIONS:
        return False
    axes = call.weight.ndim - 2
    if call.u.ndim != axes + 2:  # torch took the batch for channels: an axis of samples is missing
        return False
    usual = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
    stride, padding, dilation, groups = (call.options.get(n, usual[n]) for n in usual)
    kernel = tuple(call.weight.shape[2:])

    def each(value: Any) -> tuple[int, ...]:
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes

    keeps = padding == "same" or each(padding) == tuple(k // 2 for k in kernel)
    odd = all(k % 2 for k in kernel)
    return keeps and odd and set(each(stride) + each(dilation) + (groups,)) == {1}
