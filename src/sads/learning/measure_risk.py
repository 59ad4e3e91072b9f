"""Measuring a risk: rounds of stratified draws, until its errors are small enough (`risk`)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..directions.sets import Cosines, DirectionSet
from ..errors import InputError, NetworkError
from ..path import DiffusionPath, Schedule
from ..randomness import stream
from .references import Reference
from .risk import CLEAN, NOISE, Risk
from .strata import Strata, Sums, bound_weights, uniform_weights

ROUND = 25  # draws of each stratum between two looks at the error
TOGETHER = 125  # noisy samples evaluated at once
MOST = 400_000  # evaluations, whatever the tolerance
LOOSER = 2.5  # the tolerances of the part along the data and of nats, relative to the total's

Predictor = Callable[[Tensor, Tensor], Tensor]
Report = Callable[[int, float], None]


def measure_risk(
    predict: Predictor,
    reference: Reference,
    schedule: DiffusionPath,
    shape: tuple[int, ...],
    *,
    other: Predictor | None = None,
    directions: DirectionSet | None = None,
    emphasis: Float[np.ndarray, " T"] | None = None,
    of: str = NOISE,
    sigmas: Sequence[float] | None = None,
    tolerance: float = 0.02,
    seed: int = 0,
    on_progress: Report | None = None,
) -> Risk:
    """The risk of a network, or the risk of a second one minus that of the first.

    Args:
        predict: predicted noise for x (N, *shape) at t (N,).
        reference: the data and what the prediction is compared with.
        schedule: the path from data to noise.
        shape: shape of one sample.
        other: a second network; the result is its risk minus the first one's, at common samples
            and noise.
        directions: the directions to tell apart; bands of frequency by default.
        emphasis: the weight of each timestep in a loss; the total is the mean of emphasis times
            risk.
        of: the quantity whose error it is: `noise`, or the `clean` sample, the denoised image.
        sigmas: the ratios of noise to signal over which the total is the mean, instead of all
            timesteps; between two levels of the path it is interpolated in the logarithm.
        tolerance: standard error of the total at which to stop, relative to the first network's.
        seed: the seed of all draws.
        on_progress: called with the evaluations so far and the relative error.
    """
    if reference.size != math.prod(shape):
        raise InputError(
            f"the network takes samples of {math.prod(shape)} entries, the data have "
            f"{reference.size}"
        )
    if not 0 < tolerance < 1:
        raise InputError(f"the tolerance is a relative error between 0 and 1, got {tolerance}")
    told_apart = directions or Cosines(shape, min(16, math.prod(shape[1:] or shape)))
    if told_apart.shape != shape:
        raise InputError(f"the directions are of samples {told_apart.shape}, expected {shape}")
    if of not in (NOISE, CLEAN):
        raise InputError(f"a risk is of {NOISE} or {CLEAN}, got {of!r}")
    predictors = [predict] if other is None else [predict, other]
    measure = _Measure(predictors, reference, schedule, shape, told_apart, of)
    plain = uniform_weights(schedule) if sigmas is None else _at_sigmas(schedule, sigmas)
    sums = {"uniform": Sums(Strata(_emphasised(plain, emphasis)))}
    if of == NOISE and isinstance(schedule, Schedule):
        sums["bound"] = Sums(Strata(bound_weights(schedule)))
    aims = {"uniform": tolerance, "bound": LOOSER * tolerance}
    generators = {
        name: stream(seed, "noisy samples of a risk", number) for number, name in enumerate(sums)
    }
    open_sums = set(sums)
    while open_sums:
        for name in sorted(open_sums):
            measure.add(sums[name], generators[name])
            relative = measure.relative_error(sums[name], looser=name == "uniform")
            if relative <= aims[name] or sums[name].draws * sums[name].strata.count >= MOST:
                open_sums.discard(name)
            if on_progress is not None:
                on_progress(measure.evaluations, relative)
    risk = measure.result(sums["uniform"], sums.get("bound"))
    return risk if sigmas is None else replace(risk, sigmas=tuple(sigmas))


def _at_sigmas(path: DiffusionPath, sigmas: Sequence[float]) -> Float[np.ndarray, " T"]:
    """Weights of sum one that interpolate between the levels next to each sigma."""
    known, wanted = np.log(path.sigma), np.array(sigmas, dtype=float)
    ends = float(path.sigma[0]), float(path.sigma[-1])
    if not len(wanted) or not ((wanted >= ends[0]) & (wanted <= ends[1])).all():
        raise InputError(
            f"sigmas are ratios of noise to signal from {ends[0]:.3g} to {ends[1]:.3g} on this "
            f"path, got {list(sigmas)}"
        )
    place = np.interp(np.log(wanted), known, np.arange(path.steps))
    below = np.minimum(place.astype(int), path.steps - 2)
    weights = np.zeros(path.steps)
    np.add.at(weights, below, 1 - (place - below))
    np.add.at(weights, below + 1, place - below)
    return weights / len(wanted)


def _emphasised(
    plain: Float[np.ndarray, " T"], emphasis: Float[np.ndarray, " T"] | None
) -> Float[np.ndarray, " T"]:
    if emphasis is None:
        return plain
    if emphasis.shape != plain.shape:
        raise InputError(
            f"the emphasis of a loss has {len(plain)} entries, one for each timestep, got an "
            f"array of shape {emphasis.shape}"
        )
    return plain * emphasis


class _Measure:
    """Energies of residuals, whose sums are kept.

    The columns are: the risk of the first network, which tolerances refer to; then total, part
    along the data, part off it, and each group, of the network or of the difference.
    """

    def __init__(
        self,
        predictors: Sequence[Predictor],
        reference: Reference,
        path: DiffusionPath,
        shape: tuple[int, ...],
        directions: DirectionSet,
        of: str,
    ):
        self.predictors, self.reference = predictors, reference
        self.path, self.shape, self.directions, self.of = path, shape, directions, of
        self.support = reference.support
        self.evaluations = 0

    def add(self, sums: Sums, generator: np.random.Generator) -> None:
        """One more round of draws."""
        t = sums.strata.draw(ROUND, generator)
        parts = [
            self._values(t[start : start + TOGETHER], generator)
            for start in range(0, len(t), TOGETHER)
        ]
        sums.add(np.concatenate(parts))
        self.evaluations += len(t) * len(self.predictors)

    def _values(
        self, t: Int[np.ndarray, " N"], generator: np.random.Generator
    ) -> Float[np.ndarray, "N q"]:
        path = self.path
        clean = self.reference.draw(len(t), generator)
        eps = generator.standard_normal(clean.shape)
        # Networks see float32; the reference is of the same rounded input.
        noisy = (path.signal[t][:, None] * clean + path.noise[t][:, None] * eps).astype(np.float32)
        powers = path.signal_power[t], path.noise_power[t]
        reference = self.reference.at(noisy.astype(float), eps, *powers)
        energies = [self._energies(p, noisy, t, reference) for p in self.predictors]
        told = energies[0] if len(energies) == 1 else energies[1] - energies[0]
        return np.column_stack([energies[0][:, 0], told])

    @torch.inference_mode()
    def _energies(
        self,
        predict: Predictor,
        noisy: Float[np.ndarray, "N D"],
        t: Int[np.ndarray, " N"],
        reference: Float[np.ndarray, "N D"],
    ) -> Float[np.ndarray, "N q"]:
        x = torch.from_numpy(noisy).reshape(-1, *self.shape)
        predicted = predict(x, torch.from_numpy(t)).double().cpu().numpy().reshape(noisy.shape)
        residual = predicted - reference
        if not np.isfinite(residual).all():
            raise NetworkError("the network returned NaN or infinity: its risk is not defined")
        if self.of == CLEAN:
            residual *= self.path.sigma[t][:, None]
        whole = (residual**2).sum(axis=1)
        along = whole if self.support is None else ((residual @ self.support) ** 2).sum(axis=1)
        groups = self.directions.products(residual, residual)
        return np.column_stack([whole, along, whole - along, groups])

    def relative_error(self, sums: Sums, *, looser: bool) -> float:
        """The relative error of the total, or of the part along the data where that is worse."""
        if sums.draws < 2:
            return math.inf
        value, error = sums.value, sums.error
        relative = error[1] / max(abs(value[0]), 1e-300)
        if looser and self.support is not None and len(self.predictors) == 1:
            relative = max(relative, error[2] / max(value[2], 1e-300) / LOOSER)
        return float(relative)

    def result(self, uniform: Sums, bound: Sums | None) -> Risk:
        value, error = uniform.value, uniform.error
        split = self.support is not None
        return Risk(
            exact=self.reference.exact,
            total=float(value[1]),
            total_error=float(error[1]),
            along=float(value[2]) if split else None,
            along_error=float(error[2]) if split else None,
            off=float(value[3]) if split else None,
            off_error=float(error[3]) if split else None,
            nats=None if bound is None else float(bound.value[1]),
            nats_error=None if bound is None else float(bound.error[1]),
            labels=self.directions.labels,
            widths=self.directions.widths,
            by_direction=value[4:],
            by_direction_error=error[4:],
            edges=uniform.strata.edges,
            by_timestep=uniform.means[:, 1],
            by_timestep_error=uniform.mean_errors[:, 1],
            table=uniform.means[:, 4:].T,
            table_error=uniform.mean_errors[:, 4:].T,
            evaluations=self.evaluations,
            of=self.of,
            paired=len(self.predictors) > 1,
        )
