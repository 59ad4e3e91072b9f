"""Noisy samples with the optimal prediction at each of them."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..data.laws import Law
from ..path import Schedule
from .references import Reference


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy samples x_t = sqrt(abar) x_0 + sqrt(1 - abar) eps.

    Attributes:
        x: float32, shape (N, *shape).
        t: timesteps.
        eps: the noise in them.
        optimum: eps* at x, at their timesteps.
    """

    x: Float[Tensor, "N ..."]
    t: Tensor
    eps: Float[np.ndarray, "N D"]
    optimum: Float[np.ndarray, "N D"]

    def __len__(self) -> int:
        return len(self.t)

    def part(self, which: slice) -> "Noisy":
        """Some of them."""
        return Noisy(self.x[which], self.t[which], self.eps[which], self.optimum[which])


def draw_noisy(
    reference: Reference,
    target: Law,
    schedule: Schedule,
    shape: tuple[int, ...],
    t: Int[np.ndarray, " N"],
    generator: np.random.Generator,
) -> Noisy:
    """Draw one sample at each of the timesteps."""
    abar = schedule.abar[t]
    clean = reference.draw(len(t), generator)
    eps = generator.standard_normal(clean.shape)
    x = np.sqrt(abar)[:, None] * clean + np.sqrt(1 - abar)[:, None] * eps
    optimum = target.optimal_noise(x, abar)
    image = torch.from_numpy(x).float().view(len(t), *shape)
    return Noisy(image, torch.from_numpy(t), eps, optimum)
