"""The one-step forecast: what the first step of training does along each direction.

A network f at initialisation, a batch, its gradient g of the loss, the mean over batch and pixels
of |f - eps|^2, and P(g) what the optimiser makes of it: g for SGD, g / (|g| + 1e-8) for the first
step of Adam. A step of rate eta changes the output at an input y, drawn independently of the batch,
by -eta J(y) P(g). For a group of directions,

    drift = E_y <-J E[P(g)], eps*> / E_y <eps*, eps*>      how fast the target is taken up,
    noise = E_y Var_g |J P(g)|^2 / directions              what the batches stir up.

Two batches are drawn for each network, with products a_1 = J P(g_1) and a_2 = J P(g_2) at common
inputs y. Then -(a_1 + a_2) / 2 stands for -J E[P(g)] without bias, since y is independent of both,
and |a_1 - a_2|^2 / 2 for the variance. So both numbers, for all directions, cost two backward
passes and two products a network, and no D x D matrix.

The noise that is left *late* in training comes from batches at the optimum, whose residual is
eps* - eps instead of f - eps; `at_optimum` takes the gradients there.

Both are means over fresh networks, with standard errors over networks; the drift is a ratio of
means, its error that of the delta method.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.stats import chi2
from torch import Tensor, nn

from ..data.laws import Law
from ..directions.sets import Cosines, DirectionSet
from ..errors import InputError, NetworkError
from ..inspection.jacobian_products import Way, choose_way, gradient, moving_parameters, product
from ..networks import ScoreFamily
from ..randomness import sequence, stream
from ..statistics.ranks import reliability
from .references import Reference

FEWEST, MOST = 8, 1_024  # networks
ADAM_EPS = 1e-8
Optimiser = Literal["adam", "sgd"]
OPTIMISERS: tuple[Optimiser, ...] = ("adam", "sgd")
Report = Callable[[int, float], None]


@dataclass(frozen=True)
class Step:
    """The step that is forecast.

    Attributes:
        optimiser: `adam` or `sgd`.
        batch_size: samples in a batch.
        points: inputs y at which each network is looked at.
        at_optimum: gradients of the optimum's residual eps* - eps, for the noise left late.
    """

    optimiser: Optimiser = "adam"
    batch_size: int = 64
    points: int = 128
    at_optimum: bool = False

    def __post_init__(self) -> None:
        if self.optimiser not in OPTIMISERS:
            known = " or ".join(OPTIMISERS)
            raise InputError(f"unknown optimiser {self.optimiser!r}: expected {known}")
        if self.batch_size < 1 or self.points < 1:
            raise InputError("a step needs at least one sample in its batch and one point")


@dataclass(frozen=True, eq=False)
class Forecast:
    """Drift and noise of one step of training along each group of directions.

    Attributes:
        labels: names of the groups.
        widths: directions in each.
        drift: share of the target taken up per unit of the learning rate.
        noise: variance per direction, per unit of the squared learning rate.
        networks: behind it.
        step: what is forecast.
        way: how products with the Jacobian were computed.
        reliability: Spearman correlation of the drift between halves of the networks, stepped up
            to all of them.
        p_value: of the hypothesis that all drifts are equal.
    """

    labels: tuple[str, ...]
    widths: Int[np.ndarray, " k"]
    drift: Float[np.ndarray, " k"]
    drift_error: Float[np.ndarray, " k"]
    noise: Float[np.ndarray, " k"]
    noise_error: Float[np.ndarray, " k"]
    networks: int
    step: Step
    way: Way
    reliability: float
    p_value: float


def forecast_step(
    family: ScoreFamily,
    reference: Reference,
    target: Law,
    *,
    directions: DirectionSet | None = None,
    step: Step | None = None,
    networks: int | None = None,
    tolerance: float = 0.1,
    seed: int = 0,
    on_progress: Report | None = None,
) -> Forecast:
    """Forecast one step of training, averaged over fresh networks.

    Args:
        family: the architecture.
        reference: the data that batches are drawn from.
        target: the law whose optimum is to be learned.
        directions: what is told apart; bands of frequency by default.
        step: the optimiser and its batches.
        networks: how many; without it, until the tolerance is reached.
        tolerance: root mean square error of the drifts over their spread at which to stop.
        seed: of all draws.
        on_progress: called with networks so far and that ratio.
    """
    if networks is not None and networks < FEWEST:
        raise InputError(f"at least {FEWEST} networks are needed for error bars, got {networks}")
    if reference.size != family.size or target.size != family.size:
        raise InputError(f"{family.name} takes {family.size} entries, the data have {target.size}")
    told_apart = directions or Cosines(family.shape, 16)
    look = _Look(family, reference, target, told_apart, step or Step(), seed)
    rows: list[np.ndarray] = []
    wanted = networks or MOST
    while len(rows) < wanted:
        rows.append(look.at(len(rows)))
        if len(rows) % FEWEST == 0 or len(rows) == wanted:
            ratio = _error_to_spread(np.stack(rows))
            if on_progress is not None:
                on_progress(len(rows), ratio)
            if networks is None and ratio <= tolerance:
                break
    return _forecast(np.stack(rows), told_apart, look)


class _Look:
    """One fresh network after another: drift, target and noise in every group."""

    def __init__(
        self,
        family: ScoreFamily,
        reference: Reference,
        target: Law,
        directions: DirectionSet,
        step: Step,
        seed: int,
    ):
        self.family, self.reference, self.target = family, reference, target
        self.directions, self.step, self.seed = directions, step, seed
        self.way: Way | None = None

    def at(self, number: int) -> Float[np.ndarray, "3 k"]:
        """Rows <-a, eps*>, <eps*, eps*> and <a_1 - a_2, a_1 - a_2> / 2 of one network."""
        word = sequence(self.seed, "networks of a forecast", number).generate_state(1, np.uint64)
        network = self.family.member(int(word[0]) >> 1).eval()
        parameters = moving_parameters(network)
        generator = stream(self.seed, "batches of a forecast", number)
        y, t, _, optimum = self._noisy(self.step.points, generator)
        if self.way is None:
            self.way = choose_way(network, y[:1], t[:1])
        first, second = (
            product(
                network, parameters, self._moves(network, parameters, generator), y, t, self.way
            )
            .flatten(1)
            .double()
            .numpy()
            for _ in range(2)
        )
        if not (np.isfinite(first).all() and np.isfinite(second).all()):
            raise NetworkError(f"{self.family.name}: a training step gives NaN or infinity")
        apart = self.directions.products
        mean, half = (first + second) / 2, first - second
        return np.stack(
            [
                -apart(mean, optimum).mean(axis=0),
                apart(optimum, optimum).mean(axis=0),
                apart(half, half).mean(axis=0) / 2 / self.directions.widths,
            ]
        )

    def _noisy(
        self, count: int, generator: np.random.Generator
    ) -> tuple[Tensor, Tensor, np.ndarray, np.ndarray]:
        """Noisy inputs, their timesteps, their noise and the optimum there."""
        t = generator.integers(self.family.schedule.steps, size=count)
        abar = self.family.schedule.abar[t]
        clean = self.reference.draw(count, generator)
        eps = generator.standard_normal(clean.shape)
        x = np.sqrt(abar)[:, None] * clean + np.sqrt(1 - abar)[:, None] * eps
        optimum = self.target.optimal_noise(x, abar)
        image = torch.from_numpy(x).float().view(count, *self.family.shape)
        return image, torch.from_numpy(t), eps, optimum

    def _moves(
        self, network: nn.Module, parameters: dict[str, Tensor], generator: np.random.Generator
    ) -> dict[str, Tensor]:
        """P(g) of one batch."""
        x, t, eps, optimum = self._noisy(self.step.batch_size, generator)
        if self.step.at_optimum:
            residual = torch.from_numpy(optimum - eps).view(x.shape)
        else:
            with torch.no_grad():
                residual = network(x, t).double() - torch.from_numpy(eps).view(x.shape)
        pull = (2 / eps.size) * residual
        grads = gradient(network, parameters, x, t, pull.float())
        if self.step.optimiser == "sgd":
            return grads
        return {n: g / (g.abs() + ADAM_EPS) for n, g in grads.items()}


def _drift(rows: Float[np.ndarray, "M 3 k"]) -> tuple[np.ndarray, np.ndarray]:
    """The ratio of means and its standard error."""
    taken, target = rows[:, 0], rows[:, 1]
    scale = target.mean(axis=0)
    ratio = taken.mean(axis=0) / scale
    rest = (taken - ratio * target) / scale
    return ratio, rest.std(axis=0, ddof=1) / math.sqrt(len(rows))


def _error_to_spread(rows: Float[np.ndarray, "M 3 k"]) -> float:
    drift, error = _drift(rows)
    spread = float(drift.std())
    return math.sqrt(float((error**2).mean())) / spread if spread > 0 else math.inf


def _forecast(rows: Float[np.ndarray, "M 3 k"], directions: DirectionSet, look: _Look) -> Forecast:
    drift, error = _drift(rows)
    noise = rows[:, 2]
    weights = 1 / np.maximum(error, 1e-300) ** 2
    common = float((weights * drift).sum() / weights.sum())
    statistic = float((weights * (drift - common) ** 2).sum())
    return Forecast(
        labels=directions.labels,
        widths=directions.widths,
        drift=drift,
        drift_error=error,
        noise=noise.mean(axis=0),
        noise_error=noise.std(axis=0, ddof=1) / math.sqrt(len(rows)),
        networks=len(rows),
        step=look.step,
        way=look.way or "forward",
        reliability=_reliability(rows),
        p_value=float(chi2.sf(statistic, max(len(drift) - 1, 1))),
    )


def _reliability(rows: Float[np.ndarray, "M 3 k"]) -> float:
    """Agreement of halves in Spearman's correlation, stepped up by Spearman and Brown."""
    if rows.shape[2] < 3:
        return math.nan
    return reliability(_drift(rows[::2])[0], _drift(rows[1::2])[0])
