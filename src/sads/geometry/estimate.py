"""Estimating a geometry: batches of networks, accumulated until the goal is reached.

Batches run in threads, one torch thread each, and are accumulated in their order. Each draws from
a stream named by the seed and the batch's number, so a run that was killed continues exactly where
its last checkpoint stood. The error is looked at after numbers of networks that depend on the
estimate alone, never on time, so an interrupted and an uninterrupted run stop at the same network.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np
import torch

from ..devices import memory_errors_explained
from ..directions import FOLDS
from ..directions.symmetry import sectors
from ..directions.whitening import halves_error
from ..draws import DRAWS
from ..errors import ArtefactError, InputError
from ..networks import ScoreFamily
from ..probes import Probe, Zero
from ..storage.files import writing
from .artefact import FILE, read_state, write_state
from .estimators import Estimator, estimator_named
from .plan import Plan
from .result import Geometry, exact_geometry, keep_spectrum, load_geometry
from .source import Source, prepare
from .state import State

DEFAULT_TOLERANCE = 0.02
CHECKPOINT_SECONDS = 20.0


@dataclass(frozen=True)
class Progress:
    """How far an estimate is: networks so far, expected in all, and the last known error."""

    networks: int
    expected: int | None
    error: float | None


class Options(TypedDict, total=False):
    """Options of an estimate; all have defaults.

    Attributes:
        networks: stop after so many networks.
        tolerance: stop at this whitened error (0.02 unless `networks` is given).
        probe: where to look; x = 0 by default.
        estimator: `integrated` (default) or `naive`.
        weighting: `score` (default) for the paper's geometry, `noise` to count all timesteps alike.
        timesteps: only those from the first up to, but not including, the second.
        seed: of all random draws, 0 by default.
        out: directory for the result and for checkpoints; an unfinished run is continued.
        device: `cpu` (default) or a CUDA device.
        zero_output: what to do about networks that output zero at initialisation: `explain`
            (default) stops with the reason, `last` redraws the layer that zeroes the output with
            its own default or sets its gain to one, `all` does so with every zero layer.
        on_progress: called after each batch.
    """

    networks: int | None
    tolerance: float | None
    probe: Probe
    estimator: str
    weighting: str
    timesteps: tuple[int, int] | None
    seed: int
    out: str | Path | None
    device: str
    zero_output: str
    on_progress: Callable[[Progress], None] | None


MOST_NETWORKS = 10**9  # the paper has 10^6; more than this is a slip of the hand


@dataclass(frozen=True)
class Goal:
    """When to stop: at a number of networks, or at a whitened error."""

    networks: int | None
    tolerance: float | None

    @classmethod
    def of(cls, networks: int | None, tolerance: float | None, estimator: Estimator) -> "Goal":
        """The goal that the options name, or the estimator's default."""
        if networks is not None and tolerance is not None:
            raise InputError("give either a number of networks or a tolerance, not both")
        if networks is not None and networks < FOLDS:
            raise InputError(f"at least {FOLDS} networks are needed for error bars, got {networks}")
        if networks is not None and networks > MOST_NETWORKS:
            raise InputError(
                f"at most {MOST_NETWORKS:,} networks are estimated, got {networks:.3g}"
            )
        if tolerance is not None and not 0 < tolerance < 1:
            raise InputError(f"the tolerance is a whitened error between 0 and 1, got {tolerance}")
        if networks is None and tolerance is None:
            networks = estimator.networks
            return cls(networks, None if networks else DEFAULT_TOLERANCE)
        return cls(networks, tolerance)

    @property
    def allowed_rounding(self) -> float:
        """Float32 may change the geometry by a tenth of the error aimed at."""
        return (self.tolerance or DEFAULT_TOLERANCE) / 10

    def batch(self, chunk: int) -> int:
        """Networks per batch, so that every fold gets some."""
        return chunk if self.networks is None else max(1, min(chunk, self.networks // FOLDS))


def estimate_geometry(family: ScoreFamily, **options: Unpack[Options]) -> Geometry:
    """Estimate the average geometry of a family of untrained networks (definition 2).

    Raises:
        InputError: for options that make no sense.
        NetworkError: for networks that have no geometry, with the reason.
        ArtefactError: if `out` cannot be written or holds something else.
    """
    # Not unpacked with a star, which would keep every estimate on the way.
    return deque(running_estimates(family, **options), maxlen=1)[0]


def running_estimates(family: ScoreFamily, **options: Unpack[Options]) -> Iterator[Geometry]:
    """Like `estimate_geometry`, but yields estimates as they improve; the last is the result."""
    with _memory_explained(family):
        yield from _running_estimates(family, **options)


def planned_geometry(family: ScoreFamily, **options: Unpack[Options]) -> Plan:
    """What `estimate_geometry` would do with the same options, without doing it.

    A few networks are run: to see that they can be, how their last layer is read, and which
    precision they need.

    Raises:
        InputError, NetworkError: as `estimate_geometry` would.
    """
    with _memory_explained(family):
        goal, source = _prepared(family, **options)
        return source.plan if source.exact is not None else _settled(source, goal).plan


def _memory_explained(family: ScoreFamily) -> AbstractContextManager[None]:
    sizes = "x".join(map(str, family.shape))
    what = f"the geometry of {family.name} on {sizes}"
    return memory_errors_explained(what, "choose a smaller shape, or free some memory")


def _prepared(family: ScoreFamily, **options: Unpack[Options]) -> tuple[Goal, Source]:
    estimator = estimator_named(options.get("estimator", "integrated"))
    goal = Goal.of(options.get("networks"), options.get("tolerance"), estimator)
    source = prepare(
        family,
        options.get("probe") or Zero(),
        estimator=estimator,
        weighting=options.get("weighting", "score"),
        timesteps=options.get("timesteps"),
        seed=options.get("seed", 0),
        device=options.get("device", "cpu"),
        zero_output=options.get("zero_output", "explain"),
    )
    return goal, source


def _running_estimates(family: ScoreFamily, **options: Unpack[Options]) -> Iterator[Geometry]:
    goal, source = _prepared(family, **options)
    report = options.get("on_progress") or (lambda progress: None)
    out = options.get("out")
    if out is None:
        yield from _estimates(source, goal, None, report)
    else:
        with writing(Path(out)):
            yield from _estimates(source, goal, Path(out), report)


def _estimates(
    source: Source, goal: Goal, out: Path | None, report: Callable[[Progress], None]
) -> Iterator[Geometry]:
    if source.exact is not None:
        yield _closed_form(source.plan, source.exact, out)
        return
    run = _Run(*(_resume(source, goal, out) or _start(source, goal)), goal, out)
    resumed_at = run.state.networks
    geometry: Geometry | None = None
    while goal.networks is None or run.state.networks < goal.networks:
        if run.state.networks >= run.state.next_check:
            geometry = run.look()
            if run.state.networks >= run.state.next_check:
                break
            yield geometry
            geometry = None  # more networks will be better, and it is large
        run.advance(min(run.state.next_check, goal.networks or run.state.next_check), report)
    if run.state.networks == resumed_at and run.state.finished and out is not None:
        yield load_geometry(out)
        return
    run.store(finished=True)
    # That of the last look, where there is one, has computed much of what will be asked.
    geometry = (geometry or Geometry(run.source.plan, run.state)).at(run.state)
    if out is not None:
        keep_spectrum(geometry, out)
    yield geometry


def _closed_form(plan: Plan, factor: np.ndarray, out: Path | None) -> Geometry:
    geometry = exact_geometry(plan, factor, 0.0)
    if out is not None:
        _refuse_other(plan, out)
        write_state(out, plan, geometry.state)
    return geometry


class _Run:
    """An estimate under way.

    Args:
        source: where batches come from.
        state: what they have added up to; replaced by every batch.
        goal: when to stop.
        out: where it is stored, if anywhere.
    """

    def __init__(self, source: Source, state: State, goal: Goal, out: Path | None):
        self.source, self.state, self.goal, self.out = source, state, goal, out
        self.error: float | None = None
        self.looked_at = 0
        self.stored = time.perf_counter()
        self.begun = self.stored - state.seconds

    def store(self, *, finished: bool) -> None:
        """Note the time spent, and write a checkpoint."""
        self.stored = time.perf_counter()
        self.state = replace(self.state, seconds=self.stored - self.begun, finished=finished)
        if self.out is not None:
            write_state(self.out, self.source.plan, self.state)

    def advance(self, until: int, report: Callable[[Progress], None]) -> None:
        """Add batches up to a number of networks."""
        _refuse_other_draws(self.source.plan, self.out)
        for moment, count in _batches(self.source, self.state, until):
            self.state = self.state.with_batch(moment, count)
            report(Progress(self.state.networks, self._expected(), self.error))
            if self.out and time.perf_counter() - self.stored > CHECKPOINT_SECONDS:
                self.store(finished=False)

    def _expected(self) -> int | None:
        """Networks at the end, as far as can be told: the error falls as one over their root."""
        goal = self.goal
        if goal.networks is not None or self.error is None or goal.tolerance is None:
            return goal.networks
        return int(self.looked_at * (self.error / goal.tolerance) ** 2)

    def look(self) -> Geometry:
        """Look at the error and decide when to look next; not again where the goal is met."""
        plan, goal = self.source.plan, self.goal
        geometry = Geometry(plan, self.state.snapshot())
        self.looked_at, self.error = self.state.networks, None
        if geometry.sampled_all_directions:
            parts = sectors(geometry.structure, plan.symmetries)
            self.error = halves_error(*geometry.halves(), parts)
            if goal.tolerance is not None and self.error <= goal.tolerance:
                self.error = geometry.whitened_error  # without symmetries that the data contradict
        growth = 2.0
        if goal.tolerance is not None and self.error is not None:
            if self.error <= goal.tolerance:
                return geometry
            growth = min(4.0, max(1.1, 1.03 * (self.error / goal.tolerance) ** 2))
        next_check = _whole_rounds(plan, growth * self.state.networks)
        self.state = replace(self.state, next_check=next_check)
        return geometry


def _settled(source: Source, goal: Goal) -> Source:
    """The source with its plan completed by batch size and precision."""
    precision = source.precision(goal.allowed_rounding, goal.networks)
    batch = goal.batch(source.plan.batch)
    return source.with_plan(source.plan.model_copy(update={"batch": batch, "precision": precision}))


def _start(source: Source, goal: Goal) -> tuple[Source, State]:
    """A fresh run."""
    source = _settled(source, goal)
    plan = source.plan
    next_check = _whole_rounds(plan, plan.readout.structure.rows // plan.readout.rank)
    return source, replace(State.empty(plan.readout), next_check=next_check)


def _resume(source: Source, goal: Goal, out: Path | None) -> tuple[Source, State] | None:
    """The run stored in a directory, if it is of the same plan."""
    if out is None or not (out / FILE).exists():
        return None
    _refuse_other(source.plan, out)
    plan, state = read_state(out)
    if not state.finished:
        _refuse_other_draws(plan, out)
    stored = plan.precision
    if stored and stored.features == "float32" and (stored.difference or 0) > goal.allowed_rounding:
        raise ArtefactError(
            f"{out} was computed in float32, which is off by {stored.difference:.1g}: too much for "
            "this tolerance, choose another directory"
        )
    return source.with_plan(plan), state


def _refuse_other(plan: Plan, out: Path) -> None:
    if (out / FILE).exists() and (different := plan.differences(read_state(out)[0])):
        raise ArtefactError(
            f"{out} holds another geometry ({'; '.join(different)}): choose another "
            "directory or delete it"
        )


def _refuse_other_draws(plan: Plan, out: Path | None) -> None:
    """Networks of two versions of the draws are not added up."""
    if plan.draws != DRAWS:
        raise ArtefactError(
            f"{out} holds {plan.network} from version {plan.draws} of the random draws, which "
            f"version {DRAWS} cannot continue: use it as it is, choose another directory or delete "
            "it"
        )


def _whole_rounds(plan: Plan, networks: float) -> int:
    """At least so many networks, the same number in every fold."""
    round_size = FOLDS * plan.batch
    return round_size * max(1, math.ceil(networks / round_size))


def _batches(source: Source, state: State, until: int) -> Iterator[tuple]:
    """Moments of the batches from where the state stands, in order, computed ahead in threads."""
    threads = torch.get_num_threads()
    on_cpu = source.ensemble.device.type == "cpu"
    workers = threads if on_cpu and source.plan.batch > 1 else 1
    prepare_thread = partial(torch.set_num_threads, threads // workers)
    waiting: deque[tuple[Future, int]] = deque()
    batch, networks = state.batches, state.networks
    pool = ThreadPoolExecutor(workers, initializer=prepare_thread)
    try:
        while networks < until or waiting:
            while networks < until and len(waiting) <= workers:
                count = min(source.plan.batch, until - networks)
                waiting.append((pool.submit(source.moment, batch, count), count))
                batch, networks = batch + 1, networks + count
            future, count = waiting.popleft()
            yield future.result(), count
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        torch.set_num_threads(threads)
