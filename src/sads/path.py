"""The noise schedule of a variance-preserving diffusion.

    x_t = sqrt(abar_t) x_0 + sqrt(1 - abar_t) eps,      abar_t = prod_{s <= t} (1 - beta_s)

A network predicts eps; the score is F = -eps / sqrt(1 - abar_t), so the outer product F F^T of
definition 2 carries the weight w_t = 1 / (1 - abar_t).

Timesteps are 0-based: t = 0 is the least noisy of `steps` levels.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .errors import InputError

KINDS = ("linear", "cosine")
WEIGHTINGS = ("score", "noise")


@dataclass(frozen=True)
class Schedule:
    """A noise schedule.

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
        if self.steps < 21:  # betas of the linear schedule reach 20/steps and must stay below one
            raise InputError(f"a schedule needs at least 21 steps, got {self.steps}")

    @cached_property
    def betas(self) -> np.ndarray:
        """beta_t, shape (steps,)."""
        if self.kind == "linear":
            return np.linspace(0.1 / self.steps, 20 / self.steps, self.steps)
        time = np.arange(self.steps + 1) / self.steps
        abar = np.cos((time + 0.008) / 1.008 * math.pi / 2) ** 2
        return np.minimum(1 - abar[1:] / abar[:-1], 0.999)

    @cached_property
    def abar(self) -> np.ndarray:
        """abar_t, shape (steps,)."""
        return np.cumprod(1 - self.betas)

    @cached_property
    def score_weights(self) -> np.ndarray:
        """w_t = 1 / (1 - abar_t), the squared scale from predicted noise to score."""
        return 1 / (1 - self.abar)

    def weights(self, weighting: str) -> np.ndarray:
        """Weight of each timestep: `score` for the paper's geometry, `noise` for all alike."""
        if weighting not in WEIGHTINGS:
            known = ", ".join(WEIGHTINGS)
            raise InputError(f"unknown weighting {weighting!r}: expected one of {known}")
        return self.score_weights if weighting == "score" else np.ones(self.steps)
