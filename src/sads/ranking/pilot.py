"""A pilot: short trainings of all candidates, compared at common noise.

After n steps a network has the residual r = eps_theta(x_t, t) - reference at a noisy sample
(`learning.references`: the optimum where it is known, else the noise; the part of the error that
no network can avoid cancels in differences). Two errors are measured, means over all timesteps:

    along the constant images  E sum_c (u_c^T r)^2,      in total  E |r|^2,

u_c the constant image of channel c. The samples x_t depend on the seed alone, stratified over t,
and so do the batches and the noise of the training: candidates of a seed differ only in their
architecture. `halving` says how they are compared and who goes on.

Trainings and measurements are stored in a directory as they are made. A pilot that was stopped
continues from there. A pilot by a recipe (another optimiser, warm-up, law of timesteps or weighting
of the loss) stores only its measurements: the few steps before the next one are taken again.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ..learning import Recipe, Reference
from ..networks import ScoreFamily
from .halving import certain, ordered, rungs, survivors
from .pilot_protocol import PilotProtocol
from .pilot_trainings import Errors, PilotTrainings

Report = Callable[[str, int, int], None]


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
        on_progress: called with the current candidate, the trainings done and the most there can
            be.
        recipe: how steps are taken, with the batch size and rate of the pilot; None for plain Adam.
    """
    plan = rungs(pilot.steps)
    work = PilotTrainings(samples, reference, pilot, plan, out, recipe)
    left = {family.name: family for family in families}
    most, done = _most_trainings(len(families), len(plan)) * pilot.seeds, 0
    measured: list[dict[str, Errors]] = []
    behind: list[str] = []  # candidates that have left, the last to leave first
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
