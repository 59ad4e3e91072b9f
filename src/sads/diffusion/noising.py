"""The forward process on torch tensors: x_t = sqrt(abar_t) x_0 + sqrt(1 - abar_t) eps."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..path import Schedule


def add_noise(
    x: Float[Tensor, "N ..."],
    eps: Float[Tensor, "N ..."],
    t: Int[Tensor, " N"],
    abar: Float[Tensor, " T"],
) -> Float[Tensor, "N ..."]:
    """Noisy samples at timesteps t."""
    level = abar[t].to(x.dtype).view(-1, *(1,) * (x.ndim - 1))
    return level.sqrt() * x + (1 - level).sqrt() * eps


def signal_levels(schedule: Schedule, device: torch.device | str = "cpu") -> Float[Tensor, " T"]:
    """abar_t in float64."""
    return torch.from_numpy(schedule.abar).to(device)
