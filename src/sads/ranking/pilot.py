"""A pilot: short trainings of all candidates, compared at common noise.

After n steps a network has the residual r = eps_theta(x_t, t) - reference at a noisy sample
(`learning.references`: the optimum where it is known, else the noise, whose part that no network
can avoid cancels in differences). Two errors are measured, means over all timesteps:

    along the constant images  E sum_c (u_c^T r)^2,      in total  E |r|^2,

u_c the constant image of channel c. The samples x_t depend on the seed alone, stratified over t,
and so do the batches and the noise of the training: candidates of a seed differ in nothing but the
architecture. `halving` says how they are compared and who goes on.

Trainings and measurements are kept in a directory as they come. A pilot that was stopped goes on
from there. A pilot by a recipe (another optimiser, warm-up, law of timesteps or weighting of the
loss) keeps its measurements alone: the few steps before the next one are taken again.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import torch
from jaxtyping import Float

from ..data.laws import Normal
from ..diffusion import Trained, settings_for, train
from ..diffusion.training import explained
from ..directions.sets import ChannelMeans
from ..errors import InputError, NetworkError
from ..foundation.choices import Criterion
from ..learning import HeldOut, Recipe, Reference, Scene
from ..learning.pilot import Training
from ..learning.strata import Strata, uniform_weights
from ..networks import ScoreFamily
from ..randomness import stream
from ..storage.cached_results import remembered
from ..storage.files import checksum
from .halving import certain, ordered, rungs, survivors

TOGETHER = 250  # noisy samples evaluated at once
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class PilotProtocol:
    """How a pilot is run.

    Attributes:
        steps: most training steps of a candidate.
        seeds: trainings of each candidate.
        level: probability at which an order is certain.
        by: what candidates are ordered by: their error along the `constant` images or in `total`.
        batch_size: samples a batch.
        learning_rate: of Adam.
        points: noisy samples in each stratum of timesteps at which errors are measured.
        seed: the first of the seeds.

    >>> import sads
    >>> sads.PilotProtocol(steps=80).by
    'constant'
    """

    steps: int = 40
    seeds: int = 4
    level: float = 0.95
    by: Criterion = "constant"
    batch_size: int = 64
    learning_rate: float = 1e-3
    points: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.points < 1:
            raise InputError("a pilot needs at least one step and one point")
        if self.seeds < 2:
            raise InputError(
                f"a pilot needs at least 2 seeds to say how sure it is, got {self.seeds}"
            )
        if not 0.5 < self.level < 1:
            raise InputError(f"the level is a probability between 0.5 and 1, got {self.level}")
        if self.by not in CRITERIA:
            raise InputError(f"candidates are ordered by {' or '.join(CRITERIA)}, got {self.by!r}")


@dataclass(frozen=True)
class Errors:
    """Errors of one candidate after a rung, by seed.

    Attributes:
        constant: along the constant images.
        total: in total.
        steps: of its trainings so far.
        training: seconds of all its trainings so far.
        measuring: seconds of measuring these errors.
    """

    constant: Mapping[int, float]
    total: Mapping[int, float]
    steps: int
    training: float
    measuring: float


@dataclass(frozen=True)
class Piloted:
    """What a pilot measured.

    Attributes:
        order: names of the candidates, the best first.
        rungs: errors of those that took part, rung by rung.
        certain: whether the order of the last rung is certain at the level.
    """

    order: tuple[str, ...]
    rungs: tuple[Mapping[str, Errors], ...]
    certain: bool

    def last_common(self, *names: str) -> Mapping[str, Errors]:
        """The last rung in which all of these took part."""
        return next(rung for rung in reversed(self.rungs) if {*names} <= rung.keys())

    @property
    def seconds(self) -> float:
        """Spent in training and in measuring all candidates."""
        trained = [self.last_common(name)[name].training for name in self.order]
        measured = [errors.measuring for rung in self.rungs for errors in rung.values()]
        return math.fsum(trained + measured)


def run_pilot(
    families: Sequence[ScoreFamily],
    samples: Float[np.ndarray, "M ..."],
    reference: Reference,
    pilot: PilotProtocol,
    out: Path,
    on_progress: Report | None = None,
    *,
    recipe: Recipe | None = None,
) -> Piloted:
    """Train candidates for a short time and order them.

    Args:
        families: the candidates, of different names and the shape of the samples.
        samples: training data.
        reference: held-out data, or the optimum.
        pilot: how it is run.
        out: directory for trainings and measurements.
        on_progress: called with the candidate at hand, trainings done and trainings at most.
        recipe: how steps are taken, with the batch size and rate of the pilot; None for plain Adam.
    """
    plan = rungs(pilot.steps)
    work = _Work(samples, reference, pilot, plan, out, recipe)
    left = {family.name: family for family in families}
    most, done = _most_trainings(len(families), len(plan)) * pilot.seeds, 0
    measured: list[dict[str, Errors]] = []
    behind: list[str] = []  # those that left, the last to leave first
    while True:
        rung: dict[str, Errors] = {}
        for name, family in left.items():
            if on_progress is not None:
                on_progress(name, done, most)
            rung[name] = work.errors(family, plan[len(measured)])
            done += pilot.seeds
        measured.append(rung)
        judged = {name: getattr(errors, pilot.by) for name, errors in rung.items()}
        order = ordered(judged)
        sure = certain(order, judged, pilot.level)
        if sure or len(measured) == len(plan):
            return Piloted((*order, *behind), tuple(measured), sure)
        going_on = survivors(order) if len(order) > 2 else order
        behind = [*order[len(going_on) :], *behind]
        left = {name: left[name] for name in going_on}


def _most_trainings(candidates: int, count: int) -> int:
    total = 0
    for _ in range(count):
        total += candidates
        candidates = max(2, math.ceil(candidates / 2))
    return total


class _Work:
    """The trainings of a pilot, and where their networks are measured."""

    def __init__(
        self,
        samples: np.ndarray,
        reference: Reference,
        pilot: PilotProtocol,
        plan: Sequence[int],
        out: Path,
        recipe: Recipe | None,
    ):
        self.samples, self.reference, self.pilot = samples, reference, pilot
        self.recipe = recipe
        self.live: dict[tuple[str, int], Training] = {}
        points = reference.draw(2, stream(0, "the name of a reference"))
        self.about: dict[str, object] = {
            "data": checksum({"train": samples, "held out": points}),
            "rungs": list(plan),
            "batch_size": pilot.batch_size,
            "learning_rate": pilot.learning_rate,
            "points": pilot.points,
        }
        if recipe is not None:
            self.about["recipe"] = recipe.summary()
        # A training that another pilot took further could not be measured at earlier steps.
        self.out = out / _digest(self.about)

    def errors(self, family: ScoreFamily, steps: int) -> Errors:
        """The errors of a candidate after some steps, for all seeds."""
        rows = {
            self.pilot.seed + number: self._measured(family, steps, self.pilot.seed + number)
            for number in range(self.pilot.seeds)
        }
        return Errors(
            {seed: row["constant"] for seed, row in rows.items()},
            {seed: row["total"] for seed, row in rows.items()},
            steps,
            math.fsum(row["seconds"] for row in rows.values()),
            # Older directories did not keep what measuring took.
            math.fsum(row.get("measuring", 0.0) for row in rows.values()),
        )

    def _measured(self, family: ScoreFamily, steps: int, seed: int) -> dict[str, float]:
        about = self.about | {"network": family.name, "fingerprint": family.fingerprint}
        place = self.out / f"{_digest(about)}-{seed}"

        def by_recipe() -> dict[str, float]:
            started = time.perf_counter()
            training = self._advanced(family, steps, seed)
            seconds = time.perf_counter() - started
            return {"seconds": seconds} | self._looked_at(training, seed)

        def compute() -> dict[str, float]:
            settings = settings_for(
                family,
                iterations=steps,
                batch_size=self.pilot.batch_size,
                learning_rate=self.pilot.learning_rate,
                seed=seed,
            )
            trained = train(family, self.samples, settings, out=place / "training")
            return {"seconds": trained.seconds} | self._looked_at(trained, seed)

        chosen = compute if self.recipe is None else by_recipe
        return remembered(place / f"step-{steps}.json", about, chosen)

    def _looked_at(self, trained: Trained | Training, seed: int) -> dict[str, float]:
        started = time.perf_counter()
        constant, total = common_errors(trained, self.reference, self.pilot.points, seed)
        measuring = time.perf_counter() - started
        return {"constant": constant, "total": total, "measuring": measuring}

    def _advanced(self, family: ScoreFamily, steps: int, seed: int) -> Training:
        """A training by the recipe, from where it stands in this process or from its start."""
        key = (family.name, seed)
        if key not in self.live:
            rows = HeldOut(self.samples.reshape(len(self.samples), -1))
            directions, target = ChannelMeans(family.shape), Normal.white(family.size)
            scene = Scene(family, rows, target, directions, self.recipe or Recipe())
            self.live[key] = Training(scene, seed)
        with explained(family.name, "a short training"):
            self.live[key].advance(steps)
        return self.live[key]


def _digest(about: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]


def common_errors(
    trained: Trained | Training, reference: Reference, points: int, seed: int
) -> tuple[float, float]:
    """The error along the constant images and in total, at samples that the seed decides."""
    family = trained.family
    means = ChannelMeans(family.shape)
    generator = stream(seed, "noisy samples of a pilot")
    t = Strata(uniform_weights(family.schedule)).draw(points, generator)
    path = family.schedule
    sums = np.zeros(2)
    for start in range(0, len(t), TOGETHER):
        part = slice(start, start + TOGETHER)
        signal, level = path.signal[t[part]][:, None], path.noise[t[part]][:, None]
        clean = reference.draw(len(signal), generator)
        eps = generator.standard_normal(clean.shape)
        noisy = (signal * clean + level * eps).astype(np.float32)
        with torch.inference_mode():
            x = torch.from_numpy(noisy).view(-1, *family.shape)
            predicted = trained.predict(x, torch.from_numpy(t[part])).double().numpy()
        residual = predicted.reshape(noisy.shape) - reference.at(
            noisy.astype(float), eps, path.signal_power[t[part]], path.noise_power[t[part]]
        )
        sums += means.products(residual, residual).sum(), np.square(residual).sum()
    if not np.isfinite(sums).all():
        raise NetworkError(f"{family.name} returned NaN or infinity in a pilot")
    constant, total = sums / len(t)
    return float(constant), float(total)
