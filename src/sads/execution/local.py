"""The local engine: an executor whose workers are processes that cannot harm each other.

`ProcessPoolExecutor` gives up all its work when one process dies, and does not say which call
killed it. Here each slot has a process of its own. If it dies, only the call that it was running
fails, with `WorkerLostError`, and the next call gets a new process. Functions are sent by name and
arguments as JSON; nothing is pickled.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import SadsError

STARTS = 5  # a process may be killed while it starts, but not for ever


class WorkerLostError(Exception):
    """A worker that died while it was running a call.

    Attributes:
        deaths: how many workers the call has cost.
    """

    def __init__(self, message: str, deaths: int = 1):
        super().__init__(message)
        self.deaths = deaths


class EngineError(SadsError):
    """An engine that cannot run anything."""


class _Process:
    """A worker process and the pipes to it."""

    def __init__(self, threads: int, log: Path | None, preload: Sequence[str]):
        stderr = None if log is None else open(log, "a")  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "sads.execution.worker", *preload],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=_environment(threads),
            )
        finally:
            if stderr is not None:
                stderr.close()
        self.kill = self._process.kill

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, line: str = "") -> dict[str, Any] | None:
        """The answer to a line, or the first message without one; None if the process has died."""
        calls, answers = self._process.stdin, self._process.stdout
        if calls is None or answers is None:
            return None
        try:
            if line:
                calls.write(f"{line}\n")
                calls.flush()
            answer = answers.readline()
        except (OSError, ValueError):  # it died before it could read
            return None
        return json.loads(answer) if answer.endswith("\n") else None

    def ended(self) -> str:
        """Wait for its end, and say how it ended."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # unread input was lost with the process
                if pipe is not None:
                    pipe.close()
        code = self._process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"


class LocalExecutor(Executor):
    """Processes on this machine.

    Args:
        workers: the number of processes.
        threads: torch threads of each.
        log: file for what they write to standard error.
        preload: modules that they import before their first call.
    """

    def __init__(
        self,
        workers: int,
        *,
        threads: int = 1,
        log: Path | None = None,
        preload: Sequence[str] = (),
    ):
        self._pool = ThreadPoolExecutor(workers)
        self._own = threading.local()
        self._threads, self._log, self._preload = threads, log, preload
        self._lock = threading.Lock()
        self._alive: set[_Process] = set()
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function of a module with arguments that JSON can carry."""
        if kwargs:
            raise TypeError("calls of workers take no keyword arguments")
        call = {"module": fn.__module__, "function": fn.__qualname__, "arguments": args}
        return self._pool.submit(self._call, json.dumps(call))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all workers at once; running calls fail."""
        with self._lock:
            self._closed = True
            alive = list(self._alive)
        for process in alive:
            process.kill()
        self._pool.shutdown(wait, cancel_futures=True)
        for process in alive:
            process.ended()

    def _call(self, line: str) -> Any:
        """Make a call in a thread of the pool, which keeps its process from call to call."""
        process = getattr(self._own, "process", None)
        if process is not None and not process.alive:  # it died between two calls
            self._forget(process)
            process = None
        process = self._own.process = process or self._started()
        answer = process.ask(line)
        if answer is None:
            self._own.process = None
            raise WorkerLostError(f"its worker died ({self._forget(process)})")
        if "error" in answer:
            raise EngineError(f"a worker failed: {answer['error']}")
        return answer["value"]

    def _started(self) -> _Process:
        """A process that is ready; a process that dies while it starts does not fail a call."""
        ended = ""
        for _ in range(STARTS):
            with self._lock:
                if self._closed:
                    raise WorkerLostError("the engine is closed")
                process = _Process(self._threads, self._log, self._preload)
                self._alive.add(process)
            if process.ask() is not None:
                return process
            ended = self._forget(process)
        where = "above" if self._log is None else self._log
        raise EngineError(f"workers cannot be started ({ended}): see {where}")

    def _forget(self, process: _Process) -> str:
        with self._lock:
            self._alive.discard(process)
        return process.ended()


def _environment(threads: int) -> dict[str, str]:
    """The environment of a worker: ours, with a limit on threads and our search path."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    path = os.pathsep.join(place or os.getcwd() for place in sys.path)
    return os.environ | dict.fromkeys(names, str(threads)) | {"PYTHONPATH": path}
