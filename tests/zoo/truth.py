"""The geometry of the zoo's networks in closed form.

Their stem is linear in random weights, so that with tau_t = 1 + 0.02 t and positions P

    h = tau_t (V (k_t x + P) + d),      E[sum_k h_k h_k^T] = width tau_t^2 (v_w M_t + v_d 1 1^T),

M_t the second moment of k_t x + P summed over channels, and the last layer makes of it

    eps = c_t x + s_t (W * h + b),      G = E_t[w_t (s_t^2 E[z z^T] + c_t^2 E[x x^T])].

Expectations over t are sums over the schedule. What is not linear is brute force (`sampled_truth`).
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F

from sads.geometry import Gaussian, Point, Probe, Zero
from sads.path import Schedule, prediction_named

SHAPE, WIDTH, KERNEL = (2, 4, 4), 8, 3
CHANNELS, PIXELS = SHAPE[0], SHAPE[1] * SHAPE[2]
FAN = WIDTH * KERNEL**2
SHORT = Schedule("linear", 50)
STEPS = np.arange(SHORT.steps)
TAU = 1 + 0.02 * STEPS
POINT = np.random.default_rng(11).standard_normal(SHAPE)
ONES = np.ones(SHORT.steps)


def positions() -> torch.Tensor:
    return torch.linspace(-1, 1.5, CHANNELS * PIXELS).view(SHAPE).sin()


def default(fan: int) -> float:
    """The variance of torch's default initialisation."""
    return 1 / (3 * fan)


def second_moments(probe: Probe) -> tuple[np.ndarray, np.ndarray]:
    """E[x x^T] over entries, and over positions summed over channels."""
    size = CHANNELS * PIXELS
    if isinstance(probe, Gaussian):
        return probe.std**2 * np.eye(size), CHANNELS * probe.std**2 * np.eye(PIXELS)
    x = probe.x if isinstance(probe, Point) else np.zeros(SHAPE)
    flat = x.reshape(CHANNELS, PIXELS)
    return np.outer(flat, flat), flat.T @ flat


def inputs_moment(probe: Probe, scale: float, beside: np.ndarray) -> np.ndarray:
    """Of scale x + beside, over positions, summed over channels."""
    if isinstance(probe, Point):
        return (total := scale * probe.x.reshape(CHANNELS, -1) + beside).T @ total
    return beside.T @ beside + scale**2 * second_moments(probe)[1]


@cache
def shifts() -> np.ndarray:
    """For each offset of the kernel the matrix that shifts an image, zero beyond its border."""
    basis = torch.eye(PIXELS, dtype=torch.float64).view(PIXELS, 1, *SHAPE[1:])
    return F.unfold(basis, KERNEL, padding=KERNEL // 2).numpy().transpose(1, 2, 0)


def closed_form(
    *,
    probe: Probe | None = None,
    prediction: str = "eps",
    weight: float = default(FAN),
    bias: float = default(FAN),
    stem: float = default(CHANNELS),
    stem_bias: float = default(CHANNELS),
    scale: np.ndarray | float = 1.0,
    skip: np.ndarray | float = 0.0,
    tau: np.ndarray = TAU,
    input_scale: np.ndarray = ONES,
    channel_gains: tuple[float, ...] = (1.0, 1.0),
    beside: np.ndarray | None = None,
) -> np.ndarray:
    """G with a convolution at the end; `scale` and `skip` are those of the module itself.

    Args:
        weight: E of the variance of W, times what it is correlated with.
        bias: variance of b.
        stem: variance of V.
        stem_bias: variance of d.
        beside: what is added to the input instead of the positions.
    """
    probe = probe or Zero()
    slopes, scales = prediction_named(prediction).conversion(SHORT)
    slopes, scales = slopes + scales * skip, scales * scale
    beside = positions().double().numpy().reshape(CHANNELS, -1) if beside is None else beside
    total = np.zeros((CHANNELS * PIXELS,) * 2)
    for t in STEPS:
        inner = stem * inputs_moment(probe, float(input_scale[t]), beside) + stem_bias
        features = WIDTH * tau[t] ** 2 * inner
        unfolded = sum(shift @ features @ shift.T for shift in shifts())
        own = np.kron(np.diag(np.square(channel_gains)), weight * unfolded + bias)
        whole = scales[t] ** 2 * own + slopes[t] ** 2 * second_moments(probe)[0]
        total += SHORT.score_weights[t] * whole / SHORT.steps
    return total


def sampled_truth(
    after: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], networks: int = 400_000
) -> np.ndarray:
    """E_t[w_t E[f f^T]] for f = after(t, z) at x = 0, by drawing V, d, W and b; to about 0.3 %."""
    generator = torch.Generator().manual_seed(5)

    def draw(*shape: int, fan: int) -> torch.Tensor:
        return (torch.rand(shape, generator=generator) * 2 - 1) / math.sqrt(fan)

    weights = SHORT.score_weights / SHORT.score_weights.sum()
    shift = torch.from_numpy(shifts()).float()
    total, part = np.zeros((CHANNELS * PIXELS,) * 2), 10_000
    for _ in range(networks // part):
        t = torch.multinomial(torch.from_numpy(weights), part, True, generator=generator)
        v, d = draw(part, WIDTH, CHANNELS, fan=CHANNELS), draw(part, WIDTH, 1, fan=CHANNELS)
        h = (v @ positions().view(CHANNELS, -1) + d) * (1 + 0.02 * t)[:, None, None]
        w, b = draw(part, CHANNELS, FAN, fan=FAN), draw(part, CHANNELS, 1, fan=FAN)
        unfolded = torch.einsum("opq,nkq->nkop", shift, h).flatten(1, 2)
        f = after(t, w @ unfolded + b).flatten(1).double()
        total += (f.T @ f).numpy()
    return SHORT.score_weights.mean() * total / networks
