"""What comes between the last layer and the score: eps = a + s Q u, and how t is drawn.

    G = E_t[w_t E[s^2 z z^T + a a^T]],      z = Q u, of mean zero given the features.

Timesteps are drawn in proportion to w_t g_t, so that with Z = E_t[w_t g_t] the outer products carry
the relative weights s_t^2 / g_t and 1 / g_t, and G is Z times their mean. Without a constant part
g_t = s_t^2 and the first weight is one: for noise, v-, x0-, flow- and score-prediction w_t g_t is
1/b^2, (a/b)^2 / (a^2 + b^2)^2, a^2/b^4, (a/b)^2 / (a + b)^2 and 1, with x_t = a x_0 + b eps.

The constant part is often a multiple of the input, a = c_t x: conversions of predictions and the
preconditioning of EDM add one. Under a Gaussian probe E[a a^T] is then c_t^2 std^2 I.

All factors after the last layer belong to s, whether they are constant or depend on the timestep,
the input or parameters. It is measured in every network (`integration`). The table s_t here only
decides how often a timestep is drawn, unless a constant part is accumulated.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..networks import ScoreFamily
from ..networks.adapters import own_prediction
from ..probes import Probe
from .last_layer import LastLayer, scales_at
from .last_layer_effect import ROUNDINGS
from .members import LARGEST_SMALL, parameter_bytes
from .tracing import NoLastLayer, Outputs, in_place_of, outputs_over_time, read

TOGETHER = 50  # timesteps of a small network that are evaluated at once
PROPORTIONAL = 1e-4  # largest relative residual with which a counts as a multiple of x


@dataclass(frozen=True)
class Tail:
    """What follows the last layer.

    Attributes:
        scales: s_t; of one network, if each has its own.
        slopes: c_t, if a = c_t x and `floor` accounts for it.
        proposal: g_t.
        total: Z.
        floor: the multiple of the identity from a = c_t x under a Gaussian probe, over Z.
        constant: whether a is accumulated.
        bias_share: mean relative weight of z z^T.
    """

    scales: Float[np.ndarray, " T"]
    slopes: Float[np.ndarray, " T"]
    proposal: Float[np.ndarray, " T"]
    total: float
    floor: float = 0.0
    constant: bool = False
    bias_share: float = 1.0


def _conversion(network: nn.Module, family: ScoreFamily) -> tuple[np.ndarray, np.ndarray]:
    """c_t and s_t of converting the network's prediction to noise."""
    return own_prediction(network).conversion(family.schedule)


def converted_tail(
    network: nn.Module,
    family: ScoreFamily,
    probe: Probe,
    weights: Float[np.ndarray, " T"],
) -> Tail:
    """The tail of sampled outputs, which only says how timesteps are drawn.

    Args:
        network: a member.
        family: its family.
        probe: the probe that draws its inputs.
        weights: probability times weight of each timestep.
    """
    slopes, scales = _conversion(network, family)
    energy = probe.energy(family.size, family.schedule) / family.size
    proposal = scales**2 + slopes**2 * energy
    return plain_tail(proposal, float(weights @ proposal))


def parametric_tail(
    network: nn.Module, family: ScoreFamily, weights: Float[np.ndarray, " T"]
) -> Tail:
    """The tail of derivatives by the parameters, to which constant parts add nothing.

    Args:
        network: a member.
        family: its family.
        weights: probability times weight of each timestep.
    """
    proposal = _conversion(network, family)[1] ** 2
    return plain_tail(proposal, float(weights @ proposal))


def plain_tail(proposal: Float[np.ndarray, " T"], total: float) -> Tail:
    """The tail of outputs that are read as they are."""
    return Tail(np.ones_like(proposal), np.zeros_like(proposal), proposal, total)


def measured_tail(
    networks: list[nn.Module],
    layer: LastLayer,
    family: ScoreFamily,
    probe: Probe,
    weights: Float[np.ndarray, " T"],
    trial: tuple[Tensor, Tensor, Tensor],
) -> Tail:
    """The tail after a last layer.

    Args:
        networks: at least two members.
        layer: their last layer.
        family: their family.
        probe: the probe that draws their inputs.
        weights: probability times weight of each timestep.
        trial: two Gaussian inputs, two inputs of the probe and at least two timesteps.

    Raises:
        NoLastLayer: if both the constant part and the scale differ between networks.
    """
    x, inputs, t = trial
    first = networks[0]
    scales, slopes = _scales_and_slopes(networks, layer, family, x, t, weights)
    at_probe = [
        read(network, inputs[i : i + 1], t[i : i + 1], layer.index)
        for i, network in enumerate((first, networks[-1]))
    ]
    silent = all(not bool(a.any()) for a, _ in at_probe)
    variance = 0.0 if silent else probe.isotropic_variance
    if silent or (slopes is not None and variance is not None):
        total = float(weights @ scales**2)
        slopes = np.zeros_like(scales) if slopes is None or silent else slopes
        floor = float(weights @ slopes**2) * (variance or 0.0) / total
        return Tail(scales, slopes, scales**2, total, floor)
    if not layer.steady:
        raise NoLastLayer("both what is added to its last layer and its scale vary")
    own = np.mean([float(call.u.square().mean()) for _, call in at_probe])
    energy = probe.energy(family.size, family.schedule) / family.size
    if slopes is None:
        rest = float(torch.cat([a for a, _ in at_probe]).double().square().mean())
    else:
        rest = slopes**2 * energy
    proposal = scales**2 * max(float(own), 1e-12) + rest
    total = float(weights @ proposal)
    share = float(weights @ scales**2) / total
    return Tail(scales, np.zeros_like(scales), proposal, total, constant=True, bias_share=share)


def _scales_and_slopes(
    networks: list[nn.Module],
    layer: LastLayer,
    family: ScoreFamily,
    x: Tensor,
    t: Tensor,
    weights: Float[np.ndarray, " T"],
) -> tuple[Float[np.ndarray, " T"], Float[np.ndarray, " T"] | None]:
    """s_t, and c_t if a = c_t x in all networks, else None.

    If a few timesteps agree on one number, both follow from it by the conversion to noise.
    Otherwise they are measured at every timestep.
    """
    first = networks[0]
    from_conversion, scales = _conversion(first, family)
    inner_scale = float(scales_at(first, x[:1], t[:1], layer)[0]) / scales[int(t[0])]

    def slope(network: nn.Module, i: int, step: int) -> float | None:
        at = int(t[step])
        terms = abs(from_conversion[at]) + abs(scales[at])  # they may nearly cancel
        ratio = _ratio(network, x[i : i + 1], t[step : step + 1], layer, terms)
        return None if ratio is None else (ratio - from_conversion[at]) / scales[at]

    between = [slope(n, i, 0) for n, i in [*((n, 0) for n in networks), (first, 1)]]
    over_time = [slope(first, 0, step) for step in range(1, len(t))]
    proportional = None not in between and None not in over_time and _agree(between)
    if layer.varies or (proportional and not _agree([between[0], *over_time])):
        measured = _tables(first, layer, family, x[:1], weights)
        table = np.where(measured[0] == 0, scales, measured[0]) if not layer.steady else measured[0]
        return table, measured[1] if proportional else None
    slopes = from_conversion + scales * between[0] if proportional else None
    return scales * inner_scale, slopes


def _agree(values: list[float | None]) -> bool:
    known = np.array([v for v in values if v is not None])
    return bool(np.ptp(known) <= PROPORTIONAL * (1 + np.abs(known).max()))


def _ratio(
    network: nn.Module, x: Tensor, t: Tensor, layer: LastLayer, terms: float
) -> float | None:
    """c_t of a = c_t x, a sum of terms times x; None if a is something else."""
    a = read(network, x, t, layer.index)[0].double()
    ratio = float((a * x).sum() / x.double().square().sum())
    rest = float((a - ratio * x).abs().max())
    rounding = ROUNDINGS * torch.finfo(x.dtype).eps * terms * float(x.abs().max())
    return ratio if rest <= PROPORTIONAL * float(a.abs().max()) + rounding else None


def _tables(
    network: nn.Module,
    layer: LastLayer,
    family: ScoreFamily,
    x: Tensor,
    weights: Float[np.ndarray, " T"],
) -> tuple[Float[np.ndarray, " T"], Float[np.ndarray, " T"]]:
    """s_t and c_t measured at every timestep that has a weight."""
    scales, slopes = np.zeros(family.schedule.steps), np.zeros(family.schedule.steps)
    together = TOGETHER if parameter_bytes(network) <= LARGEST_SMALL else 1
    steps = np.flatnonzero(weights)
    parts = [steps[start : start + together] for start in range(0, len(steps), together)]
    energy = float(x.double().square().sum())
    output = _outputs(network, layer, x, [torch.from_numpy(part) for part in parts])
    for part in parts:
        t = torch.from_numpy(part)
        constant = output(t, torch.zeros_like)
        effect = (output(t, in_place_of(layer.trial)) - constant).double()
        scales[part] = layer.scale_of(effect).cpu().numpy()
        slopes[part] = (constant.double() * x).flatten(1).sum(1).cpu().numpy() / energy
    return scales, slopes


def _outputs(network: nn.Module, layer: LastLayer, x: Tensor, parts: list[Tensor]) -> Outputs:
    """The outputs at some timesteps; only large networks are worth a search for a shortcut."""
    if len(parts[0]) == 1:
        checked = [parts[0], parts[len(parts) // 2], parts[-1]]
        return outputs_over_time(network, x, layer.index, checked)

    def whole(t: Tensor, u: Callable[[Tensor], Tensor]) -> Tensor:
        return read(network, x.expand(len(t), *x.shape[1:]), t, layer.index, u)[0]

    return whole
