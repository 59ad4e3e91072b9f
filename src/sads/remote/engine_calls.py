"""Calls of one function on the workers of an engine, and how their answers travel.

Answers are JSON. A worker that cannot compute says why in its answer, instead of raising.
"""

import json
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from ..errors import NetworkError, SadsError, brief, is_memory_error
from ..execution.engines import Engine, check_engine, make_engine
from ..execution.in_order import Call, InOrder
from ..execution.local import EngineError
from ..execution.threads import limited_threads

PRELOADED = ("sads.remote",)  # importing torch takes seconds
WITHOUT_ENGINE = "workers belong to an engine: name one, local, dask or dask:ADDRESS"


class EngineCalls(AbstractContextManager["EngineCalls"]):
    """An engine that answers calls of one function in order; as a context it is closed behind.

    Args:
        function: a function of a module, which takes values of JSON and returns an `answer`.
        engine: `local`, `dask`, `dask:ADDRESS`, or an engine, which the caller closes.
        workers: calls at once; by default the cores of this machine, or the scheduler's threads.
        device: where workers compute.
    """

    def __init__(
        self,
        function: Callable[..., str],
        engine: str | Engine,
        *,
        workers: int | None = None,
        device: str = "cpu",
    ):
        if isinstance(engine, str):
            check_engine(engine, workers)
        self._function, self._asked = function, engine
        self._workers, self._device = workers, device
        self._running: tuple[Engine, InOrder] | None = None

    def __enter__(self) -> "EngineCalls":
        self._started()  # a missing scheduler should be reported now
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _started(self) -> tuple[Engine, InOrder]:
        if self._running is None:
            asked = self._asked
            if isinstance(asked, str):
                asked = make_engine(
                    asked, workers=self._workers, device=self._device, preload=PRELOADED
                )
            self._running = asked, InOrder(asked, self._function)
        return self._running

    def close(self) -> None:
        """Stop all work now."""
        if self._running is not None and isinstance(self._asked, str):
            self._running[0].close()
        self._running = None

    def answers(
        self, calls: Iterable[Call], *, most: int | None = None
    ) -> Iterator[tuple[Call, dict[str, Any]]]:
        """Every call with what was computed, at most so many of them under way.

        Raises:
            NetworkError: if the networks cannot be evaluated.
            EngineError: if a worker could not or would not compute.
        """
        engine, in_order = self._started()
        ahead = 2 * engine.slots if most is None else max(2, min(2 * engine.slots, most))
        for call, text in in_order.answers(calls, ahead):
            said = json.loads(text)
            if said.get("kind") == "network":
                raise NetworkError(said["error"])
            if "error" in said:
                raise EngineError(f"a worker cannot compute this: {said['error']}")
            yield call, said


def answer(compute: Callable[[], dict[str, Any]]) -> str:
    """What is computed with one thread, or why it is not, as JSON; never raises."""
    try:
        with limited_threads(1):
            return json.dumps(compute())
    except Exception as error:
        kind = "network" if isinstance(error, NetworkError) else "setup"
        return json.dumps({"kind": kind, "error": f"{socket.gethostname()}: {_said(error)}"})


def _said(error: Exception) -> str:
    if isinstance(error, SadsError):
        return " ".join(str(error).split())
    return "out of memory" if is_memory_error(error) else brief(error)
