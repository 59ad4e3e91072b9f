"""Variance-preserving diffusion, which the paper uses.

x_t = sqrt(abar_t) x_0 + sqrt(1 - abar_t) eps,      abar_t = prod_{s <= t} (1 - beta_s)
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import InputError
from .base import DiffusionPath, Table, checked_steps

KINDS = ("linear", "cosine")


@dataclass(frozen=True)
class Schedule(DiffusionPath):
    """A variance-preserving path, given by its betas.

    Args:
        kind: `linear`, betas from 0.1/steps to 20/steps; `cosine`, abar a squared cosine.
        steps: number of noise levels T.

    >>> round(float(Schedule().score_weights.mean()), 3)
    32.054
    """

    kind: str = "linear"
    steps: int = 1000

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"unknown schedule {self.kind!r}: expected one of {', '.join(KINDS)}")
        checked_steps(self.steps, 21)  # betas of the linear one reach 20/steps: below one

    @cached_property
    def betas(self) -> Table:
        """beta_t, shape (steps,)."""
        if self.kind == "linear":
            return np.linspace(0.1 / self.steps, 20 / self.steps, self.steps)
        time = np.arange(self.steps + 1) / self.steps
        abar = np.cos((time + 0.008) / 1.008 * math.pi / 2) ** 2
        return np.minimum(1 - abar[1:] / abar[:-1], 0.999)

    @cached_property
    def abar(self) -> Table:
        """abar_t, shape (steps,)."""
        return np.cumprod(1 - self.betas)

    # Both powers sum to one. The formulas that follow from it are written out, because the general
    # ones round differently and results at a fixed seed must keep their bits.

    @property
    def signal_power(self) -> Table:
        return self.abar

    @property
    def noise_power(self) -> Table:
        return 1 - self.abar

    @property
    def power(self) -> Table:
        return np.ones(self.steps)

    @property
    def signal(self) -> Table:
        return np.sqrt(self.abar)

    @property
    def noise(self) -> Table:
        return np.sqrt(1 - self.abar)

    @property
    def contrast(self) -> Table:
        return np.sqrt(self.abar / (1 - self.abar))

    @property
    def sigma(self) -> Table:
        return np.sqrt((1 - self.abar) / self.abar)

    @property
    def start(self) -> float:
        return 1.0

    @property
    def unit_times(self) -> Table:
        """(t + 1) / T, the part of the diffusion that is done at each level."""
        return np.arange(1, self.steps + 1) / self.steps

    def posterior_deviation(self, level: int, following: int | None) -> float:
        abar = float(self.abar[level])
        abar_next = 1.0 if following is None else float(self.abar[following])
        return ((1 - abar_next) / (1 - abar) * (1 - abar / abar_next)) ** 0.5
