"""Answers of many calls in the order in which they were made, even when workers die.

More calls are under way than there are workers, so that no worker is idle while the next answer in
order is still missing. A call whose worker dies is made again on any worker. The work fails only if
one call kills worker after worker, if the engine cannot run anything, or if no workers are left.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any

from .engines import Engine
from .local import EngineError

DEATHS = 5  # workers that one call may cost
TICK_SECONDS = 0.5
ALONE_SECONDS = 60.0  # to wait for a worker after all have gone
START_SECONDS = 600.0  # to wait for the first worker: jobs of a cluster wait in queues

Call = tuple[Any, ...]


@dataclass
class _Asked:
    """A call under way."""

    arguments: Call
    future: Future[str]
    deaths: int = 0


class InOrder:
    """Calls of one function, answered in order.

    Args:
        engine: where they run.
        function: a function of a module, which takes values of JSON and returns a text.
    """

    def __init__(self, engine: Engine, function: Callable[..., str]):
        self._engine, self._function = engine, function
        self._come = False  # whether there has been a worker
        self._seen = time.monotonic()  # when a worker was last seen

    def answers(self, calls: Iterable[Call], ahead: int) -> Iterator[tuple[Call, str]]:
        """Every call with its answer.

        Args:
            calls: the arguments of each; the iterable is read only as far as needed.
            ahead: the largest number of calls that are under way or whose answers wait their turn.

        Raises:
            EngineError: if a call cannot be answered; all earlier answers have been given.
        """
        waiting: deque[_Asked] = deque()
        source = iter(calls)
        self._seen = time.monotonic()
        try:
            while True:
                while len(waiting) < ahead and (call := next(source, None)) is not None:
                    waiting.append(_Asked(call, self._engine.submit(self._function, *call)))
                if not waiting:
                    return
                self._repeat_lost(waiting)
                if _has_answer(waiting[0].future):
                    first = waiting.popleft()
                    self._come, self._seen = True, time.monotonic()
                    yield first.arguments, first.future.result()
                else:
                    self._wait(waiting[0].future)
        finally:
            for asked in waiting:
                asked.future.cancel()

    def _wait(self, future: Future[str]) -> None:
        try:
            future.exception(timeout=TICK_SECONDS)
        except TimeoutError:
            self._require_workers()
        except CancelledError:
            return  # `_repeat_lost` handles it next

    def _repeat_lost(self, waiting: Iterable[_Asked]) -> None:
        """Repeat all calls whose workers died, not only the first one."""
        for asked in waiting:
            error = _ended_with(asked.future)
            if error is None:
                continue
            lost = self._engine.lost(error)
            asked.deaths += lost.deaths
            if asked.deaths > DEATHS:
                raise EngineError(
                    f"one piece of the work has cost {asked.deaths} workers ({lost}): see that "
                    "they have enough memory"
                )
            asked.future = self._engine.submit(self._function, *asked.arguments)

    def _require_workers(self) -> None:
        now = time.monotonic()
        if self._engine.present:
            self._come, self._seen = True, now
            return
        patience = ALONE_SECONDS if self._come else START_SECONDS
        if now - self._seen > patience:
            what = "all workers have been gone" if self._come else "no worker has come"
            raise EngineError(f"{what} for {patience:.0f} seconds: start some and begin again")


def _has_answer(future: Future[str]) -> bool:
    """Whether a call has ended without an error; a repeated call may have failed at once."""
    return future.done() and _ended_with(future) is None


def _ended_with(future: Future[str]) -> BaseException | None:
    """The error with which a call has ended, if any."""
    if not future.done():
        return None
    try:
        return future.exception()
    except CancelledError as error:
        return error
