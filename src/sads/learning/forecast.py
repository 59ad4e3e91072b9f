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
from functools import cached_property
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
from .agreement import halves_agreement, stepped_up
from .noisy import Noisy, draw_noisy
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
        rows: <-a, eps*>, <eps*, eps*> and the noise per direction, of every network.
        step: what is forecast.
        way: how products with the Jacobian were computed.
    """

    labels: tuple[str, ...]
    widths: Int[np.ndarray, " k"]
    rows: Float[np.ndarray, "M 3 k"]
    step: Step
    way: Way

    @property
    def networks(self) -> int:
        """Networks behind it."""
        return len(self.rows)

    @cached_property
    def drift(self) -> Float[np.ndarray, " k"]:
        """The share of the target taken up per unit of the learning rate."""
        return drift_of(self.rows)

    @cached_property
    def drift_error(self) -> Float[np.ndarray, " k"]:
        """Its standard error, by the delta method."""
        return _drift_error(self.rows)

    @cached_property
    def noise(self) -> Float[np.ndarray, " k"]:
        """The variance per direction, per unit of the squared learning rate."""
        return self.rows[:, 2].mean(axis=0)

    @cached_property
    def noise_error(self) -> Float[np.ndarray, " k"]:
        """Its standard error."""
        return self.rows[:, 2].std(axis=0, ddof=1) / math.sqrt(self.networks)

    @cached_property
    def reliability(self) -> float:
        """Agreement of the drift's order between halves of the networks, stepped up to all."""
        if len(self.labels) < 3:
            return math.nan
        return stepped_up(halves_agreement(self.rows, drift_of))

    @cached_property
    def p_value(self) -> float:
        """Of the hypothesis that all drifts are equal."""
        weights = 1 / np.maximum(self.drift_error, 1e-300) ** 2
        common = float((weights * self.drift).sum() / weights.sum())
        statistic = float((weights * (self.drift - common) ** 2).sum())
        return float(chi2.sf(statistic, max(len(self.drift) - 1, 1)))


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
    return Forecast(
        told_apart.labels, told_apart.widths, np.stack(rows), look.step, look.way or "forward"
    )


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
        here = self._noisy(self.step.points, generator)
        y, t, optimum = here.x, here.t, here.optimum
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

    def _noisy(self, count: int, generator: np.random.Generator) -> Noisy:
        return draw_noisy(
            self.reference, self.target, self.family.schedule, self.family.shape, count, generator
        )

    def _moves(
        self, network: nn.Module, parameters: dict[str, Tensor], generator: np.random.Generator
    ) -> dict[str, Tensor]:
        """P(g) of one batch."""
        batch = self._noisy(self.step.batch_size, generator)
        x, t, eps = batch.x, batch.t, batch.eps
        if self.step.at_optimum:
            residual = torch.from_numpy(batch.optimum - eps).view(x.shape)
        else:
            with torch.no_grad():
                residual = network(x, t).double() - torch.from_numpy(eps).view(x.shape)
        pull = (2 / eps.size) * residual
        grads = gradient(network, parameters, x, t, pull.float())
        if self.step.optimiser == "sgd":
            return grads
        return {n: g / (g.abs() + ADAM_EPS) for n, g in grads.items()}


def drift_of(rows: Float[np.ndarray, "M 3 k"]) -> Float[np.ndarray, " k"]:
    """The drift that some of the networks show, a ratio of means."""
    return rows[:, 0].mean(axis=0) / rows[:, 1].mean(axis=0)


def _drift_error(rows: Float[np.ndarray, "M 3 k"]) -> Float[np.ndarray, " k"]:
    rest = (rows[:, 0] - drift_of(rows) * rows[:, 1]) / rows[:, 1].mean(axis=0)
    return rest.std(axis=0, ddof=1) / math.sqrt(len(rows))


def _error_to_spread(rows: Float[np.ndarray, "M 3 k"]) -> float:
    spread = float(drift_of(rows).std())
    error = math.sqrt(float((_drift_error(rows) ** 2).mean()))
    return error / spread if spread > 0 else math.inf
