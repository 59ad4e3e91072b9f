"""What stands between the last layer and the score: eps = a(x, t) + s_t Q u, and how t is drawn.

    G = E_t[w_t (s_t^2 E[z z^T] + E[a a^T])],      z = Q u, of mean zero given the features.

Timesteps are drawn in proportion to w_t g_t, so that with Z = E_t[w_t g_t] the outer products carry
the relative weights s_t^2 / g_t and 1 / g_t, and G is Z times their mean. Without a constant part
g_t = s_t^2 and the first weight is one: for noise, v- and x0-prediction w_t g_t is 1/(1 - abar),
abar/(1 - abar) and abar/(1 - abar)^2.

The constant part is often a multiple of the input, a = c_t x: that is what converting predictions
and EDM's preconditioning add. Under a Gaussian probe then E[a a^T] = c_t^2 std^2 I.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..networks import ScoreFamily
from ..networks.adapters import Adapted
from ..networks.adapters.calls import conversion
from ..networks.last_layer import LastLayer, scales_at
from ..networks.tracing import read
from .closed_form import expected_energy
from .probes import Gaussian, Probe

SMALL = 16 * 2**20  # bytes of parameters up to which many timesteps are evaluated at once
TOGETHER = 50
PROPORTIONAL = 1e-4  # relative residual up to which a counts as a multiple of x


@dataclass(frozen=True)
class Tail:
    """What follows the last layer.

    Attributes:
        scales: s_t.
        proposal: g_t.
        total: Z.
        floor: the identity's multiple from a = c_t x under a Gaussian probe, over Z.
        constant: whether a is accumulated.
        bias_share: mean relative weight of z z^T.
    """

    scales: Float[np.ndarray, " T"]
    proposal: Float[np.ndarray, " T"]
    total: float
    floor: float = 0.0
    constant: bool = False
    bias_share: float = 1.0


def _conversion(network: nn.Module, family: ScoreFamily) -> tuple[np.ndarray, np.ndarray]:
    """c_t and s_t of converting the network's prediction to noise."""
    prediction = network.prediction if isinstance(network, Adapted) else "eps"
    return conversion(str(prediction), family.schedule)


def converted_tail(
    network: nn.Module,
    family: ScoreFamily,
    probe: Probe,
    weights: Float[np.ndarray, " T"],
) -> Tail:
    """The tail of sampled outputs: only how timesteps are drawn.

    Args:
        network: a member.
        family: its family.
        probe: where it is looked at.
        weights: probability times weight of each timestep.
    """
    slopes, scales = _conversion(network, family)
    energy = expected_energy(probe, family.size, family.schedule) / family.size
    proposal = scales**2 + slopes**2 * energy
    return Tail(np.ones_like(scales), proposal, float(weights @ proposal))


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
        networks: two members.
        layer: their last layer.
        family: their family.
        probe: where they are looked at.
        weights: probability times weight of each timestep.
        trial: two Gaussian inputs, two inputs of the probe and two timesteps.
    """
    x, inputs, t = trial
    at_probe = [read(n, inputs[i : i + 1], t[i : i + 1], layer.index) for i, n in _two(networks)]
    ratios = [_ratio(n, x[i : i + 1], t[i : i + 1], layer) for i, n in _two(networks)]
    slopes, scales = _conversion(networks[0], family)
    inner = [
        (r - slopes[int(s)]) / scales[int(s)]
        for r, s in zip(ratios, t, strict=True)
        if r is not None
    ]
    proportional = None not in ratios
    steady = proportional and bool(np.ptp(inner) <= PROPORTIONAL * (1 + np.abs(inner).max()))
    if layer.varies or (proportional and not steady):
        scales, slopes = _tables(networks[0], layer, family, x[:1], weights)
    elif proportional:
        slopes = slopes + scales * inner[0]
    silent = all(not bool(a.any()) for a, _ in at_probe)
    if silent or (proportional and isinstance(probe, Gaussian)):
        total = float(weights @ scales**2)
        std = probe.std if isinstance(probe, Gaussian) and not silent else 0.0
        floor = float(weights @ slopes**2) * std**2 / total
        return Tail(scales, scales**2, total, floor)
    own = np.mean([float(call.u.square().mean()) for _, call in at_probe])
    energy = expected_energy(probe, family.size, family.schedule) / family.size
    rest = slopes**2 * energy if proportional else _mean_square([a for a, _ in at_probe])
    proposal = scales**2 * max(float(own), 1e-12) + rest
    total = float(weights @ proposal)
    share = float(weights @ scales**2) / total
    return Tail(scales, proposal, total, constant=True, bias_share=share)


def _two(networks: list[nn.Module]) -> list[tuple[int, nn.Module]]:
    return list(enumerate(networks[:2]))


def _mean_square(values: list[Tensor]) -> float:
    return float(torch.cat(values).double().square().mean())


def _ratio(network: nn.Module, x: Tensor, t: Tensor, layer: LastLayer) -> float | None:
    """c_t of a = c_t x; None if a is something else."""
    a = read(network, x, t, layer.index)[0].double()
    ratio = float((a * x).sum() / x.double().square().sum())
    rest = float((a - ratio * x).abs().max())
    return ratio if rest <= PROPORTIONAL * max(float(a.abs().max()), 1e-30) else None


def _tables(
    network: nn.Module,
    layer: LastLayer,
    family: ScoreFamily,
    x: Tensor,
    weights: Float[np.ndarray, " T"],
) -> tuple[Float[np.ndarray, " T"], Float[np.ndarray, " T"]]:
    """s_t and c_t measured at every timestep that has a weight."""
    scales, slopes = np.zeros(family.schedule.steps), np.zeros(family.schedule.steps)
    size = sum(p.numel() * p.element_size() for p in network.parameters())
    together = TOGETHER if size <= SMALL else 1
    steps = np.flatnonzero(weights)
    energy = float(x.double().square().sum())
    for start in range(0, len(steps), together):
        part = steps[start : start + together]
        t, many = torch.from_numpy(part), x.expand(len(part), *x.shape[1:])
        scales[part] = scales_at(network, many, t, layer).cpu().numpy()
        a = read(network, many, t, layer.index)[0].double()
        slopes[part] = (a * x).flatten(1).sum(1).cpu().numpy() / energy
    return scales, slopes
