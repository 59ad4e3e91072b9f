"""Paths on which the signal stays and noise is added: x_k = x_0 + sigma_k eps.

Both have u_k = k / (T - 1) from 0 to 1, and

    variance exploding:  sigma_k = smallest (largest / smallest)^u_k,
    EDM:                 sigma_k^(1/rho) = (1 - u_k) smallest^(1/rho) + u_k largest^(1/rho).
"""

import math
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .base import DiffusionPath, Table, checked_steps


class _Exploding(DiffusionPath):
    """What both paths have in common."""

    smallest: float
    largest: float
    usual_time = "sigma"
    process = "variance-exploding"

    def __post_init__(self) -> None:
        checked_steps(self.steps)
        if not 0 < self.smallest < self.largest < math.inf:
            raise InputError(
                "the smallest noise level must be positive and the largest above it, got "
                f"{self.smallest} and {self.largest}"
            )

    @property
    def signal(self) -> Table:
        return np.ones(self.steps)

    @property
    def unit_times(self) -> Table:
        return np.arange(self.steps) / (self.steps - 1)


@dataclass(frozen=True)
class VarianceExploding(_Exploding):
    """Noise that grows by the same factor from level to level.

    Args:
        steps: number of levels.
        smallest: sigma of the first level.
        largest: sigma of the last.

    >>> import sads
    >>> sads.VarianceExploding(steps=3, smallest=0.1, largest=10.0).noise.round(3).tolist()
    [0.1, 1.0, 10.0]
    """

    steps: int = 1000
    smallest: float = 0.01
    largest: float = 50.0
    kind = "ve"

    @property
    def noise(self) -> Table:
        return self.smallest * (self.largest / self.smallest) ** self.unit_times


@dataclass(frozen=True)
class EDM(_Exploding):
    """The noise levels of Karras and others (2022).

    Args:
        steps: number of levels.
        smallest: sigma of the first level.
        largest: sigma of the last.
        rho: how densely levels crowd at small noise.

    >>> import sads
    >>> sads.EDM(steps=3).noise.round(3).tolist()
    [0.002, 2.515, 80.0]
    """

    steps: int = 1000
    smallest: float = 0.002
    largest: float = 80.0
    rho: float = 7.0
    kind = "edm"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.rho < math.inf:
            raise InputError(f"rho of EDM is a positive number, got {self.rho}")

    @property
    def noise(self) -> Table:
        low, high = (end ** (1 / self.rho) for end in (self.smallest, self.largest))
        return (low + self.unit_times * (high - low)) ** self.rho
