"""Sums over noise levels, estimated by stratified draws.

A quantity S = sum_t w_t R(t), R(t) = E[r | t], is W E[R(t)] with t drawn in proportion to w_t and
W = sum_t w_t. The distribution of t is cut into B strata of equal probability, each with as many
draws as the others, so that how R changes with the noise level adds next to nothing to the error:

    S^ = W / B sum_b mean_b,      Var S^ = W^2 / B^2 sum_b var_b / n_b.

Weights are `uniform` (the mean over the timesteps, W = 1) or those of the variational bound,

    w_t = beta_t^2 / (2 s_t^2 alpha_t (1 - abar_t)),
    s_t^2 = beta_t (1 - abar_{t-1}) / (1 - abar_t),

with s_0^2 = beta_0 at the first step, where the posterior variance is zero. Their sum is the excess
of the bound over the bound at the optimum, in nats. It needs strata of its own: with a linear
schedule half of W lies on a few of the first timesteps.
"""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from ..path import DiffusionPath, Schedule

STRATA = 20


def uniform_weights(schedule: DiffusionPath) -> Float[np.ndarray, " T"]:
    """The mean over all timesteps."""
    return np.full(schedule.steps, 1 / schedule.steps)


def bound_weights(schedule: Schedule) -> Float[np.ndarray, " T"]:
    """Weights of the variational bound; summed with E|eps - eps*|^2 they give nats."""
    abar, beta = schedule.abar, schedule.betas
    variance = beta.copy()
    variance[1:] *= (1 - abar[:-1]) / (1 - abar[1:])
    return beta**2 / (2 * variance * (1 - beta) * (1 - abar))


@dataclass(frozen=True, eq=False)
class Strata:
    """Timesteps in strata of equal probability under the weights."""

    weights: Float[np.ndarray, " T"]
    count: int = STRATA

    @property
    def total(self) -> float:
        """W, the sum of the weights."""
        return float(self.weights.sum())

    @property
    def edges(self) -> Int[np.ndarray, " B1"]:
        """The timestep in which each stratum begins, and T."""
        cumulated = np.cumsum(self.weights) / self.total
        # Rounding in a sum of many weights may miss a border.
        inner = np.searchsorted(cumulated - 1e-9, np.arange(1, self.count) / self.count, "right")
        return np.concatenate([[0], inner, [len(self.weights)]])

    def draw(self, each: int, generator: np.random.Generator) -> Int[np.ndarray, " N"]:
        """Timesteps, `each` of every stratum, stratum by stratum."""
        places = np.arange(self.count)[:, None] + generator.random((self.count, each))
        cumulated = np.cumsum(self.weights) / self.total
        t = np.searchsorted(cumulated, places.flatten() / self.count, side="right")
        return np.minimum(t, len(self.weights) - 1)


@dataclass
class Sums:
    """Sums and sums of squares of q quantities in each stratum.

    Attributes:
        strata: the strata.
        draws: the number of draws in each of them.
        first: the sums.
        second: the sums of squares.
    """

    strata: Strata
    draws: int = 0
    first: Float[np.ndarray, "B q"] = field(default_factory=lambda: np.zeros((0, 0)))
    second: Float[np.ndarray, "B q"] = field(default_factory=lambda: np.zeros((0, 0)))

    def add(self, values: Float[np.ndarray, "N q"]) -> None:
        """Values in the order of `Strata.draw`."""
        table = values.reshape(self.strata.count, -1, values.shape[1])
        if not self.draws:
            self.first = np.zeros((self.strata.count, values.shape[1]))
            self.second = np.zeros_like(self.first)
        self.draws += table.shape[1]
        self.first += table.sum(axis=1)
        self.second += (table**2).sum(axis=1)

    @property
    def means(self) -> Float[np.ndarray, "B q"]:
        """The mean in each stratum."""
        return self.first / self.draws

    @property
    def mean_errors(self) -> Float[np.ndarray, "B q"]:
        """Standard errors of the means."""
        variance = self.second / self.draws - self.means**2
        return np.sqrt(np.maximum(variance, 0.0) / max(self.draws - 1, 1))

    @property
    def value(self) -> Float[np.ndarray, " q"]:
        """S^ of each quantity."""
        return self.strata.total * self.means.mean(axis=0)

    @property
    def error(self) -> Float[np.ndarray, " q"]:
        """Its standard error."""
        spread = np.sqrt((self.mean_errors**2).sum(axis=0))
        return self.strata.total * spread / self.strata.count
