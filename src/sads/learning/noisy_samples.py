"""Noisy samples with the optimal prediction at each of them.

A network that predicts p x_0 + q eps has to learn the mean of that given x. With eps = c x + s out
(`sads.path.predictions`) the target is (eps - c x) / s, and its optimum (eps* - c x) / s.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..data.laws import Law
from ..path import DiffusionPath, Prediction
from .references import Reference


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy samples x_t = a x_0 + b eps.

    Attributes:
        x: float32, shape (N, *shape).
        t: timesteps.
        eps: the noise in them, or whatever else is to be predicted.
        optimum: the mean of that given x; eps* for noise.
    """

    x: Float[Tensor, "N ..."]
    t: Tensor
    eps: Float[np.ndarray, "N D"]
    optimum: Float[np.ndarray, "N D"]

    def __len__(self) -> int:
        return len(self.t)

    def part(self, which: slice) -> "Noisy":
        """Some of the samples."""
        return Noisy(self.x[which], self.t[which], self.eps[which], self.optimum[which])


def draw_noisy(
    reference: Reference,
    target: Law,
    schedule: DiffusionPath,
    shape: tuple[int, ...],
    t: Int[np.ndarray, " N"],
    generator: np.random.Generator,
    *,
    prediction: Prediction | None = None,
) -> Noisy:
    """Draw one sample at each of the timesteps.

    Args:
        reference: where clean samples come from.
        target: the law whose optimum is to be learned.
        schedule: the path from data to noise.
        shape: shape of one sample.
        t: the timesteps.
        generator: the generator of the samples and their noise.
        prediction: what is to be predicted; noise unless given.
    """
    clean = reference.draw(len(t), generator)
    eps = generator.standard_normal(clean.shape)
    x = schedule.signal[t][:, None] * clean + schedule.noise[t][:, None] * eps
    optimum = target.optimal_noise(x, schedule.signal_power[t], schedule.noise_power[t])
    image = torch.from_numpy(x).float().view(len(t), *shape)
    if prediction is not None and prediction.name != "eps":
        constant, scale = (table[t][:, None] for table in prediction.conversion(schedule))
        eps, optimum = ((values - constant * x) / scale for values in (eps, optimum))
    return Noisy(image, torch.from_numpy(t), eps, optimum)
