"""Rectified flow: the straight line from data to noise.

    x_t = (1 - t) x_0 + t eps,      t in (0, 1).

Levels are the middles u_k = (k + 1/2) / T of equal parts, so that every level has signal and
noise. The shift s of models for large images moves them towards noise,
t_k = s u_k / (1 + (s - 1) u_k). Uniform draws of these levels have the law that such models use.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .base import DiffusionPath, Table, checked_steps


@dataclass(frozen=True)
class RectifiedFlow(DiffusionPath):
    """The straight path x_t = (1 - t) x_0 + t eps.

    Args:
        steps: number of levels.
        shift: the resolution shift; 1 for levels that are even in t.

    >>> import sads
    >>> round(float(sads.RectifiedFlow(shift=3.0).noise.mean()), 2)
    0.68
    """

    steps: int = 1000
    shift: float = 1.0
    kind = "flow"
    usual_time = "unit"
    process = "rectified flow"

    def __post_init__(self) -> None:
        checked_steps(self.steps)
        if not 0 < self.shift < math.inf:
            raise InputError(f"the shift of a flow is a positive number, got {self.shift}")

    @property
    def noise(self) -> Table:
        u = (np.arange(self.steps) + 0.5) / self.steps
        return self.shift * u / (1 + (self.shift - 1) * u)

    @property
    def signal(self) -> Table:
        return 1 - self.noise

    @property
    def unit_times(self) -> Table:
        """The time t itself."""
        return self.noise
