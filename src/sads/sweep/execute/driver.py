"""The driver of a sweep: it hands out trials, records results and survives failures.

- A trial whose worker dies is run again, after the others. When it has cost more workers than
  `retries` allows, it is quarantined and the rest goes on.
- An error that would happen again (bad input, a diverged training) fails the trial at once; after
  other errors a trial is tried again up to `retries` times.
- A full disk pauses the sweep without a failed trial, and the same command resumes it.
- The first Ctrl-C (or SIGTERM) stops the workers and ends in order; the second stops at once.
"""

import shutil
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import ArtefactError, SadsError
from ...execution.engines import Engine
from ...foundation.versions import code_version
from ..describe.trial import Trial
from ..store.database import Store
from ..store.layout import settle
from ..store.outcome import Conditions, Job, Outcome, TrialResult
from ..store.rows import DONE, FAILED, PENDING, QUARANTINED
from .run_job import run_job

TICK_SECONDS = 0.2
RETRIES = 3


class PausedError(SadsError):
    """A sweep that cannot continue now; the same command resumes it."""


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Attributes:
        counts: the number of trials of each status.
        running: trials that are running, in words.
        seconds_left: the time until all pending trials are done; None until one has finished.
    """

    counts: Counter[str]
    running: tuple[str, ...]
    seconds_left: float | None


@dataclass
class _State:
    """What the driver keeps in memory; none of it is needed to resume."""

    status: dict[str, str]
    queue: deque[str]
    running: dict[Future[str], str] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    seconds: dict[tuple[Any, ...], list[float]] = field(default_factory=dict)


class Driver:
    """One run over the pending trials of a store.

    Args:
        store: the store of the sweep; the caller holds the lock of its directory.
        trials: the trials by their identities.
        engine: where they run; the caller closes it.
        conditions: how they run.
        retries: further attempts of a trial that fails or loses its worker.
        on_progress: called at every tick.
    """

    def __init__(
        self,
        store: Store,
        trials: dict[str, Trial],
        engine: Engine,
        conditions: Conditions,
        *,
        retries: int = RETRIES,
        on_progress: Callable[[Progress], None] | None = None,
    ):
        self._store, self._trials, self._engine = store, trials, engine
        self._conditions, self._retries, self._on_progress = conditions, retries, on_progress
        status = store.statuses()
        queue = deque(identity for identity, value in status.items() if value == PENDING)
        self._state = _State(status, queue)

    def run(self) -> None:
        """Run until nothing is pending.

        Raises:
            PausedError: for a full disk, or workers that can run no trial.
            KeyboardInterrupt: after Ctrl-C, when all results so far are recorded.
        """
        state = self._state
        with _interruptible() as stop:
            while (state.queue or state.running) and not stop.is_set():
                self._submit()
                self._report()
                done, _ = wait(state.running, TICK_SECONDS, return_when=FIRST_COMPLETED)
                self._record([(state.running.pop(future), future) for future in done])
            self._report()
            if stop.is_set():
                raise KeyboardInterrupt

    def _submit(self) -> None:
        state = self._state
        while state.queue and len(state.running) < self._engine.slots:
            identity = state.queue.popleft()
            job = Job(
                id=identity,
                trial=self._trials[identity],
                root=Path.cwd(),
                out=self._store.layout.root.resolve(),
                code=code_version(),
                attempt=state.failures[identity] + 1,
                **self._conditions.model_dump(),
            )
            state.running[self._engine.submit(run_job, job.model_dump_json())] = identity

    def _record(self, ended: list[tuple[str, Future[str]]]) -> None:
        """Record the calls that ended; a sweep that has to stop records the others first."""
        results: list[TrialResult] = []
        trouble: SadsError | None = None
        for identity, future in ended:
            try:
                result = self._result(identity, future)
            except SadsError as error:
                trouble = trouble or error
                continue
            if result is not None:
                results.append(result)
        self._keep(results)
        if trouble is not None:
            raise trouble

    def _keep(self, results: list[TrialResult]) -> None:
        if not results:
            return
        try:
            settle(self._store.layout)
            self._store.record(results)
        except (ArtefactError, OSError) as error:
            raise PausedError(
                f"the sweep is paused: {error}; make room and run the same command to resume it"
            ) from error
        for result in results:
            self._state.status[result.id] = DONE
            known = self._state.seconds.setdefault(result.trial.kind, [])
            known.append(result.timings.seconds)
            shutil.rmtree(self._store.layout.work(result.id), ignore_errors=True)

    def _result(self, identity: str, future: Future[str]) -> TrialResult | None:
        """The result of a call; None if the trial is to be run again, or never."""
        error = _exception(future)
        if error is not None:
            lost = self._engine.lost(error)
            self._again(identity, lost.deaths, QUARANTINED, f"{lost} at every attempt")
            return None
        outcome = Outcome.model_validate_json(future.result())
        if outcome.failure is None:
            return outcome.result
        failure = outcome.failure
        if failure.kind == "disk":
            raise PausedError(f"the sweep is paused: {failure.error}; the same command resumes it")
        if failure.kind == "setup":
            raise PausedError(f"the sweep has stopped: {failure.error}")
        if failure.kind == "final":
            self._give_up(identity, FAILED, failure.error)
        else:
            self._again(identity, 1, FAILED, failure.error)
        return None

    def _again(self, identity: str, failures: int, status: str, error: str) -> None:
        """Queue a trial again, after the others, or give it up."""
        self._state.failures[identity] += failures
        if self._state.failures[identity] > self._retries:
            self._give_up(identity, status, error)
        else:
            self._state.queue.append(identity)

    def _give_up(self, identity: str, status: str, error: str) -> None:
        self._store.give_up(identity, status, error, max(1, self._state.failures[identity]))
        self._state.status[identity] = status

    def _report(self) -> None:
        if self._on_progress is not None:
            running = tuple(str(self._trials[i]) for i in self._state.running.values())
            counts = Counter(self._state.status.values())
            self._on_progress(Progress(counts, running, self._seconds_left()))

    def _seconds_left(self) -> float | None:
        """An estimate from the mean time of finished trials of the same kind, or of any kind."""
        state = self._state
        means = {kind: sum(known) / len(known) for kind, known in state.seconds.items()}
        if not means:
            return None
        usual = sum(means.values()) / len(means)
        ahead = (*state.queue, *state.running.values())
        total = sum(means.get(self._trials[i].kind, usual) for i in ahead)
        return total / max(1, min(self._engine.slots, len(ahead)))


def _exception(future: Future[str]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as error:
        return error


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; the second Ctrl-C interrupts at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def first(number: int, frame: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, first) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
