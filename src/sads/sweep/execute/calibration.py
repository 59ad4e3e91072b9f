"""How long a sweep will take, measured by a few steps of each kind of trial on its workers.

All workers calibrate at the same time, so that the estimate includes how much they slow each other
down. Training is timed at batches of at most 128 and scaled to the batch of the protocol, sampling
for one chunk, distances for at most 500 samples, risk at the coarsest tolerance.
"""

import math
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...execution.engines import Engine
from ...execution.threads import limited_threads
from ..describe.plan import Planned
from ..describe.trial import Trial
from ..store.outcome import Timings
from .trial_data import dataset, family_of

BUDGET_SECONDS = 3.0  # for each of training and sampling
MOST_STEPS = 20
BATCH = 128
ROWS = 500
FINE_RISK = 3  # evaluations that the risk of a trial takes, relative to the coarsest one


@dataclass(frozen=True)
class Estimate:
    """What pending trials will take.

    Attributes:
        kinds: an example of each kind of trial, the number of that kind, and the cost of one.
        slots: trials that run at once.
        seconds: the time for all of them.
    """

    kinds: list[tuple[Trial, int, Timings]]
    slots: int
    seconds: float


def estimate(pending: list[Planned], engine: Engine) -> Estimate:
    """Measure each kind of trial on the workers and add up."""
    kinds: dict[tuple[Any, ...], Trial] = {}
    counts: Counter[tuple[Any, ...]] = Counter()
    for planned in pending:
        kinds.setdefault(planned.trial.kind, planned.trial)
        counts[planned.trial.kind] += 1
    measured = []
    for key, trial in kinds.items():
        text = trial.seen_from(Path.cwd()).model_dump_json()
        side_by_side = min(engine.slots, len(pending))
        futures = [engine.submit(calibrate, text) for _ in range(side_by_side)]
        costs = [Timings.model_validate_json(future.result()) for future in futures]
        mean = {
            n: sum(getattr(c, n) or 0.0 for c in costs) / len(costs) for n in Timings.model_fields
        }
        measured.append((trial, counts[key], Timings(**mean)))
    slots = max(1, min(engine.slots, len(pending)))
    total = sum(count * cost.seconds for _, count, cost in measured)
    return Estimate(measured, slots, total / slots)


class _EnoughError(Exception):
    """Raised out of a loop that has been timed for long enough."""


def calibrate(text: str) -> str:
    """The cost of a trial from a few steps, both as JSON."""
    trial = Trial.model_validate_json(text)
    with limited_threads(1):
        return Timings(
            train_seconds=_training(trial),
            sample_seconds=_sampling(trial),
            distance_seconds=_distance(trial),
            risk_seconds=_risk(trial),
        ).model_dump_json()


def _clock(times: list[float]) -> None:
    times.append(time.perf_counter())
    if len(times) > MOST_STEPS or times[-1] - times[0] > BUDGET_SECONDS:
        raise _EnoughError


def _pace(times: list[float]) -> float:
    """Seconds per step; the first one is warm-up and does not count."""
    return (times[-1] - times[0]) / max(1, len(times) - 1)


def _training(trial: Trial) -> float:
    from ...diffusion import settings_for, train

    family = family_of(trial)
    usual, protocol = family.training, trial.protocol
    batch = protocol.batch_size or usual.batch_size
    times: list[float] = []
    data = dataset(trial, family.shape, "train", max(2, min(batch, BATCH)))
    settings = settings_for(
        family,
        iterations=MOST_STEPS + 2,
        batch_size=min(batch, BATCH),
        learning_rate=protocol.learning_rate,
    )
    with suppress(_EnoughError):
        train(family, data.samples, settings, callbacks=(lambda _: _clock(times),))
    return _pace(times) * batch / min(batch, BATCH) * (protocol.iterations or usual.iterations)


def _sampling(trial: Trial) -> float:
    from ...diffusion import sample_chunks
    from ...diffusion.sampling import CHUNK

    family = family_of(trial)
    network = family.member(0).eval().requires_grad_(False)
    steps, samples = trial.protocol.steps, trial.protocol.samples
    if not samples:
        return 0.0
    chunk = min(CHUNK, samples)
    times = [time.perf_counter()]
    with suppress(_EnoughError):
        for _ in sample_chunks(
            network,
            family.shape,
            chunk,
            family.schedule,
            steps=steps,
            on_step=lambda done, total: _clock(times),
        ):
            pass
    return _pace(times[1:] if len(times) > 2 else times) * steps * math.ceil(samples / chunk)


def _distance(trial: Trial) -> float:
    from ...distances import measure_distance

    shape = family_of(trial).shape
    rows = min(trial.protocol.samples, ROWS)
    if not rows:
        return 0.0
    one, other = (dataset(trial, shape, split, rows) for split in ("train", "held-out"))
    started = time.perf_counter()
    measure_distance(
        one.samples,
        other.samples,
        x_direction=one.direction,
        y_direction=other.direction,
        projections=trial.protocol.projections,
        seed=trial.seed,
    )
    return (time.perf_counter() - started) * trial.protocol.samples / rows


def _risk(trial: Trial) -> float:
    """The time for a coarse risk of an untrained network, scaled to that of a fine one."""
    from ...learning import Optimum, measure_risk

    family = family_of(trial)
    law = dataset(trial, family.shape, "train", 1).law if trial.data.synthetic else None
    if law is None:
        return 0.0
    network = family.member(0).eval().requires_grad_(False)
    started = time.perf_counter()
    measure_risk(network, Optimum(law), family.schedule, family.shape, tolerance=0.5)
    times = FINE_RISK * (1 + len(trial.protocol.moments))
    return (time.perf_counter() - started) * times
