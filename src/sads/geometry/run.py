"""A run of an estimate: batches of networks, accumulated until the goal is reached.

Batches are computed in threads or by workers (`batch_workers`) and accumulated in their order. Each
draws from a stream named by the seed and the batch's number, so a run that was killed continues
exactly where its last checkpoint stood. The error is looked at after numbers of networks that
depend on the estimate alone, never on time, so an interrupted and an uninterrupted run stop at the
same network.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..directions import FOLDS
from ..directions.symmetry import sectors
from ..directions.whitening import halves_error
from ..errors import ArtefactError
from ..execution.local import EngineError
from ..foundation.versions import DRAWS
from .artefact import FILE, read_state, write_state
from .batch_workers import BatchWorkers
from .geometry import Geometry, exact_geometry, keep_spectrum, load_geometry
from .goal import Goal
from .plan import Plan
from .running_sums import State
from .sketch import networks_of_sketch, with_basis
from .source import Source

CHECKPOINT_SECONDS = 20.0


@dataclass(frozen=True)
class Progress:
    """How far an estimate is.

    Attributes:
        networks: so far, of the estimate or of what `stage` names.
        expected: in all.
        error: the last one that is known.
        stage: what is done before the networks of the estimate; empty when these are.
        subspace: that is estimated, once it is known; None for the whole.
        chosen: whether that subspace was chosen because the whole does not fit in memory.
        seconds: that all networks will take, said once before the first of them: at the pace at
            which precisions were compared, so that several workers need less.
    """

    networks: int
    expected: int | None
    error: float | None
    stage: str = ""
    subspace: str | None = None
    chosen: bool = False
    seconds: float | None = None


def estimates(
    source: Source,
    goal: Goal,
    out: Path | None,
    report: Callable[[Progress], None],
    batch_workers: BatchWorkers,
    started: float,
) -> Iterator[Geometry]:
    """Estimates as they improve; `started` is what the clock said when it all began."""
    if source.exact is not None:
        yield _closed_form(source.plan, source.exact, out)
        return
    batch_workers.require(source)
    with batch_workers.preparing():
        begun = _resume(source, goal, out) or _start(source, goal, out, report)
    if goal.first_look is not None:
        yield _first_look(begun[0], goal.first_look, report, batch_workers, started)
    run = _Run(*begun, goal, out, batch_workers, started)
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


def _first_look(
    source: Source,
    networks: int,
    report: Callable[[Progress], None],
    batch_workers: BatchWorkers,
    started: float,
) -> Geometry:
    """A rough estimate from few networks; large batches would leave most folds empty."""
    goal = Goal(networks, None)
    source = source.with_plan(
        source.plan.model_copy(update={"batch": goal.batch(source.plan.batch)})
    )
    run = _Run(source, State.empty(source.plan.readout), goal, None, batch_workers, started)
    run.advance(networks, report)
    return Geometry(source.plan, run.state)


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
        batch_workers: who computes the batches.
        started: the clock when preparations began.
    """

    def __init__(
        self,
        source: Source,
        state: State,
        goal: Goal,
        out: Path | None,
        batch_workers: BatchWorkers,
        started: float,
    ):
        self.source, self.state, self.goal, self.out = source, state, goal, out
        self.batch_workers = batch_workers
        self.error: float | None = None
        self.looked_at = 0
        self.stored = time.perf_counter()
        self.begun = started - state.seconds

    def store(self, *, finished: bool) -> None:
        """Note the time spent, and write a checkpoint."""
        self.stored = time.perf_counter()
        self.state = replace(self.state, seconds=self.stored - self.begun, finished=finished)
        if self.out is not None:
            write_state(self.out, self.source.plan, self.state)

    def advance(self, until: int, report: Callable[[Progress], None]) -> None:
        """Add batches up to a number of networks."""
        _refuse_other_draws(self.source.plan, self.out)
        try:
            for moment, count in self.batch_workers.batches(self.source, self.state, until):
                self.state = self.state.with_batch(moment, count)
                report(Progress(self.state.networks, self._expected(), self.error))
                if self.out and time.perf_counter() - self.stored > CHECKPOINT_SECONDS:
                    self.store(finished=False)
        except EngineError as error:  # between two batches: all sums are whole
            if self.out is None:
                raise
            self.store(finished=False)
            raise EngineError(
                f"{error}; {self.state.networks} networks are kept in {self.out}, from which the "
                "same estimate goes on"
            ) from error

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
            if plan.symmetries:
                parts = sectors(geometry.structure, plan.symmetries)
                self.error = halves_error(*geometry.halves(), parts)
            if self.error is None or (goal.tolerance and self.error <= goal.tolerance):
                self.error = geometry.whitened_error  # without symmetries that the data contradict
        growth = 2.0
        if goal.tolerance is not None and self.error is not None:
            if self.error <= goal.tolerance:
                return geometry
            growth = min(4.0, max(1.1, 1.03 * (self.error / goal.tolerance) ** 2))
        next_check = _whole_rounds(plan, growth * self.state.networks)
        self.state = replace(self.state, next_check=next_check)
        return geometry


def settled(source: Source, goal: Goal) -> Source:
    """The source with its plan completed by batch size and precision."""
    precision, pace = source.precision(goal.allowed_rounding, goal.networks)
    batch = goal.batch(source.plan.batch)
    plan = source.plan.model_copy(update={"batch": batch, "precision": precision})
    return replace(source, pace=pace).with_plan(plan)


def _start(
    source: Source, goal: Goal, out: Path | None, report: Callable[[Progress], None]
) -> tuple[Source, State]:
    """The beginning of a fresh run."""
    report(Progress(0, None, None, "comparing precisions"))
    source = settled(source, goal)
    if goal.networks is not None and source.pace is not None:
        all_networks = goal.networks + networks_of_sketch(source.plan.readout)
        report(Progress(0, goal.networks, None, seconds=source.pace * all_networks))

    def sketched(networks: int, expected: int) -> None:
        report(Progress(networks, expected, None, "sketch of the subspace"))

    source = with_basis(source, out, sketched)
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
