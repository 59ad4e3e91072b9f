"""How the output of a last layer acts on the output of the network: Q, D and s of `last_layer`."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..networks.adapters.calls import Adapted
from ..randomness import torch_stream
from .tracing import NoLastLayer, in_place_of, read

AFFINE = 1e-4  # allowed relative deviation from eps = a + s D Q u in float32
ROUNDINGS = 8  # roundings of the largest number in an output by which equal outputs may differ
NOT_FIXED = "the map from its last layer to its output is not the same for all networks and inputs"


def known_scales(network: nn.Module, t: Tensor) -> Tensor:
    """The part of s that comes from converting a prediction to noise, at t (N,): (N,)."""
    if isinstance(network, Adapted):
        return network.get_buffer("scale")[t].double()
    return torch.ones(len(t), dtype=torch.float64)


@dataclass(frozen=True)
class Effect:
    """The effect on the output of replacing u by values e.

    It is a difference of numbers as large as the constant part of the output. If that is much
    larger than the effect, as at very noisy timesteps of a preconditioned network, rounding is not
    small.

    Attributes:
        values: s D Q e, without the part of s that the conversion to noise explains.
        allowed: by how much equal effects may differ.
    """

    values: Tensor
    allowed: float


@dataclass(frozen=True)
class Reference:
    """The effect D Q e of a fixed random e, to compare other networks and timesteps with."""

    e: Tensor
    effect: Effect


def effect_of(network: nn.Module, x: Tensor, t: Tensor, index: int, e: Tensor) -> Effect:
    """The effect of replacing the output of a call by e."""
    constant, call = read(network, x, t, index)
    if call.u.numel() != e.numel():
        raise NoLastLayer("the size of its last layer changes from pass to pass")
    output, _ = read(network, x, t, index, in_place_of(e))
    known = known_scales(network, t).to(output.device)
    values = (output - constant).double() / known
    largest = max(float(v.abs().max()) for v in (output, constant, x))
    rounding = ROUNDINGS * torch.finfo(output.dtype).eps * largest / float(known.abs().min())
    return Effect(values, AFFINE * float(values.abs().max()) + rounding)


def check_fixed(
    networks: list[nn.Module], x: Tensor, t: Tensor, index: int, reference: Reference
) -> tuple[bool, bool]:
    """Whether s is steady, and whether it varies; raises if anything else changes."""

    def ratio(network: nn.Module, i: int, step: int) -> tuple[float, float]:
        at = x[i : i + 1], t[step : step + 1]
        return _ratio(effect_of(network, *at, index, reference.e), reference)

    first, last = networks[0], networks[-1]
    itself = (1.0, 0.0)
    at_first = [itself, ratio(first, 1, 0), *(ratio(other, 0, 0) for other in networks[1:])]
    over_time = [ratio(first, 0, step) for step in range(1, len(t))]
    steady = _equal(at_first) and _equal([over_time[0], ratio(last, 1, 1)])
    return steady, not _equal([itself, *over_time])


def _equal(ratios: list[tuple[float, float]]) -> bool:
    """Whether ratios are equal within the deviation that each of them allows."""
    values, allowed = zip(*ratios, strict=True)
    return max(values) - min(values) <= max(AFFINE * max(map(abs, values)), *allowed)


def _ratio(effect: Effect, reference: Reference) -> tuple[float, float]:
    """The factor between an effect and the reference, and by how much equal factors may differ.

    Raises:
        NoLastLayer: if the two differ by more than a factor.
    """
    own = reference.effect
    ratio = float((effect.values * own.values).sum() / own.values.square().sum())
    allowed = effect.allowed + abs(ratio) * own.allowed
    if not torch.allclose(effect.values, ratio * own.values, rtol=0, atol=allowed):
        raise NoLastLayer(NOT_FIXED)
    return ratio, allowed / float(own.values.square().mean().sqrt())


def selection_of(
    network: nn.Module, x: Tensor, t: Tensor, index: int
) -> tuple[Tensor | None, Tensor | None, Reference]:
    """Q and D if (*) holds, and a reference effect; raises if the output is not affine in u."""
    size = read(network, x, t, index)[1].u.numel()
    generator = torch_stream(0, "values in the place of a last layer")

    def effect(e: Tensor) -> Effect:
        return effect_of(network, x, t, index, e)

    e, f = (torch.randn(size, generator=generator) for _ in range(2))
    of_e, of_f = effect(e), effect(f)
    both = effect(e + 3 * f)
    allowed = both.allowed + of_e.allowed + 3 * of_f.allowed
    if not torch.allclose(both.values, of_e.values + 3 * of_f.values, rtol=0, atol=allowed):
        raise NoLastLayer("its output is not an affine function of its last layer")
    reference = Reference(e, of_e)
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
