"""The short trainings of a pilot, and the errors of their networks at common noise."""

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ..data.laws import Normal
from ..diffusion import Trained, settings_for, train
from ..diffusion.training import explained
from ..directions.sets import ChannelMeans
from ..errors import NetworkError
from ..learning import HeldOut, Recipe, Reference, Scene
from ..learning.pilot import Training
from ..learning.strata import Strata, uniform_weights
from ..networks import ScoreFamily
from ..randomness import stream
from ..storage.cached_results import remembered
from ..storage.files import checksum
from .pilot_protocol import PilotProtocol

TOGETHER = 250  # noisy samples evaluated at once


@dataclass(frozen=True)
class Errors:
    """Errors of one candidate after a rung, by seed.

    Attributes:
        constant: the error along the constant images.
        total: the total error.
        steps: the steps of each training so far.
        training: the seconds that all its trainings have taken so far.
        measuring: the seconds that measuring these errors took.
    """

    constant: Mapping[int, float]
    total: Mapping[int, float]
    steps: int
    training: float
    measuring: float


class PilotTrainings:
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
        self.samples: np.ndarray = samples
        self.reference: Reference = reference
        self.pilot: PilotProtocol = pilot
        self.recipe: Recipe | None = recipe
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
        self.out: Path = out / _digest(self.about)

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
            # Older directories do not say how long measuring took.
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
        """A training by the recipe, continued in this process or begun anew."""
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
