"""A path from data to noise: a number of levels, each with a share of signal and one of noise.

    x_k = a_k x_0 + b_k eps,      k = 0, ..., steps - 1.

Level 0 is the least noisy one, and the ratio b_k / a_k of noise to signal grows with k. A network
that predicts eps has the score F = -eps / b_k, so the outer product F F^T of definition 2 carries
the weight w_k = 1 / b_k^2.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from ..errors import InputError

WEIGHTINGS = ("score", "noise")
Table = Float[np.ndarray, " T"]


class DiffusionPath(ABC):
    """A path from data to noise on a grid of levels; its subclasses are frozen values.

    Attributes:
        kind: its name in artefacts and in the grammar.
        steps: number of levels T.

    >>> from sads import RectifiedFlow
    >>> path = RectifiedFlow(steps=4)
    >>> path.signal.tolist(), path.noise.tolist()
    ([0.875, 0.625, 0.375, 0.125], [0.125, 0.375, 0.625, 0.875])
    """

    kind: str
    steps: int
    #: The form of time that other people's networks get by default, see `times`.
    usual_time: ClassVar[str] = "index"
    #: How the variance changes along the path, in words.
    process: ClassVar[str] = "variance-preserving"

    @property
    @abstractmethod
    def signal(self) -> Table:
        """a_k, the factor of the clean sample."""

    @property
    @abstractmethod
    def noise(self) -> Table:
        """b_k, the factor of the noise."""

    @property
    @abstractmethod
    def unit_times(self) -> Table:
        """The time of each level between 0 (data) and 1 (noise), as networks get it."""

    @property
    def signal_power(self) -> Table:
        """a_k^2."""
        return self.signal**2

    @property
    def noise_power(self) -> Table:
        """b_k^2."""
        return self.noise**2

    @property
    def power(self) -> Table:
        """a_k^2 + b_k^2."""
        return self.signal_power + self.noise_power

    @property
    def contrast(self) -> Table:
        """a_k / b_k, the ratio of signal to noise."""
        return self.signal / self.noise

    @property
    def sigma(self) -> Table:
        """b_k / a_k, the noise in x_k / a_k = x_0 + sigma_k eps."""
        return self.noise / self.signal

    @property
    def start(self) -> float:
        """The standard deviation of the noise that sampling starts from."""
        return float(self.noise[-1])

    @property
    def parameters(self) -> Mapping[str, float]:
        """The parameters besides kind and steps that are not at their defaults, by name."""
        own = [f for f in fields(self) if f.name not in ("kind", "steps")]  # pyright: ignore
        values = {f.name: (getattr(self, f.name), f.default) for f in own}
        return {name: float(value) for name, (value, usual) in values.items() if value != usual}

    @property
    def score_weights(self) -> Table:
        """w_k = 1 / b_k^2, the squared scale from predicted noise to score.

        Raises:
            InputError: if a level has no noise, so that it has no score.
        """
        power = self.noise_power
        if not power.all():
            level = int(np.flatnonzero(power == 0)[0])
            raise InputError(
                f"the path {self.kind!r} has no noise at level {level} of {self.steps}, where the "
                "score is not defined: leave that level out of the path"
            )
        return 1 / power

    def weights(self, weighting: str) -> Table:
        """Weight of each level: `score` for the paper's geometry, `noise` for equal weights."""
        if weighting not in WEIGHTINGS:
            known = ", ".join(WEIGHTINGS)
            raise InputError(f"unknown weighting {weighting!r}: expected one of {known}")
        return self.score_weights if weighting == "score" else np.ones(self.steps)

    def posterior_deviation(self, level: int, following: int | None) -> float:
        """The standard deviation of x at a less noisy level, given x at this one and x_0.

        It is b_j sqrt(1 - sigma_j^2 / sigma_k^2). Without a following level, x is the data itself
        and the deviation is 0.
        """
        if following is None:
            return 0.0
        kept = float(self.sigma[following] / self.sigma[level])
        return float(self.noise[following]) * max(0.0, 1 - kept**2) ** 0.5


def checked_steps(steps: int, fewest: int = 2) -> None:
    """Refuse a grid of too few levels."""
    if steps < fewest:
        raise InputError(f"a schedule needs at least {fewest} steps, got {steps}")
