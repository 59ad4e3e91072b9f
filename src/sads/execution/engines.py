"""Where calls run, behind `concurrent.futures`: `local`, `dask` or `dask:ADDRESS`.

A call is a function of a module with arguments that JSON can carry, so that any worker on any
machine can make it.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InputError, brief
from .local import STARTS, EngineError, LocalExecutor, WorkerLostError

REFRESH_SECONDS = 5.0
CONNECT_TIMEOUT = "10s"


Answer = TypeVar("Answer")


class Engine:
    """An executor, how many calls it can run at once, and what its errors mean."""

    executor: Executor

    def __init__(self, workers: int):
        self._workers = workers

    @property
    def slots(self) -> int:
        """Calls that can run at once."""
        return self._workers

    @property
    def present(self) -> bool:
        """Whether there are workers; on this machine they are started when they are needed."""
        return True

    def submit(self, function: Callable[..., Answer], *arguments: Any) -> Future[Answer]:
        """Call a function of a module on some worker; JSON carries arguments and answer."""
        return self.executor.submit(function, *arguments)

    def lost(self, error: BaseException) -> WorkerLostError:
        """The lost worker that caused the error of a call.

        Raises:
            EngineError: if something else caused it, since other calls would then fail as well.
        """
        if isinstance(error, WorkerLostError):
            return error
        if isinstance(error, EngineError):
            raise error
        raise EngineError(f"the workers cannot run anything: {error!r}") from error

    def close(self) -> None:
        """Stop all work now."""
        self.executor.shutdown(wait=True, cancel_futures=True)


class LocalEngine(Engine):
    """Processes on this machine.

    Args:
        workers: the number of workers; by default one for each core that this process may use.
        threads: torch threads of each.
        log: file for what they write to standard error.
        preload: modules that a worker imports before its first call.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        threads: int = 1,
        log: Path | None = None,
        preload: Sequence[str] = (),
    ):
        super().__init__(workers or usable_cores())
        self.executor: Executor = LocalExecutor(
            self._workers, threads=threads, log=log, preload=preload
        )


class DaskEngine(Engine):
    """Workers of dask: a cluster on this machine, or the workers of a scheduler.

    Args:
        address: the address of a scheduler; None makes a local cluster.
        workers: processes of the local cluster, or calls at once; by default all threads of the
            scheduler's workers, which are counted repeatedly because workers come and go.
        device: with `cuda`, every call asks the scheduler for one unit of the resource `GPU`.
    """

    def __init__(self, address: str | None, workers: int | None = None, device: str = "cpu"):
        super().__init__(workers or usable_cores())
        self._fixed = workers is not None or address is None
        self._asked = 0.0
        gpu = {"GPU": 1} if device.startswith("cuda") else None
        self._client = _client(address, self._workers, gpu)
        options = {} if gpu is None else {"resources": gpu}
        self.executor: Executor = self._client.get_executor(pure=False, **options)

    def submit(self, function: Callable[..., Answer], *arguments: Any) -> Future[Answer]:
        return self.executor.submit(called_on_dask, function, *arguments)

    @property
    def slots(self) -> int:
        if not self._fixed and time.monotonic() - self._asked > REFRESH_SECONDS:
            self._workers = max(1, sum(self._client.nthreads().values()))
            self._asked = time.monotonic()
        return self._workers

    @property
    def present(self) -> bool:
        try:
            return bool(self._client.nthreads())
        except Exception:  # the scheduler does not answer
            return False

    def lost(self, error: BaseException) -> WorkerLostError:
        from distributed.scheduler import KilledWorker

        if isinstance(error, KilledWorker):
            return WorkerLostError("its dask worker died", deaths=error.allowed_failures + 1)
        if isinstance(error, CancelledError):
            raise EngineError("the dask scheduler is gone: start it and begin again") from error
        return super().lost(error)

    def close(self) -> None:
        with suppress(Exception):  # the scheduler may be gone already
            self.executor.shutdown(wait=False)
        with suppress(Exception):
            self._client.close()
        if self._client.cluster is not None:
            with suppress(Exception):
                self._client.cluster.close()


def called_on_dask(function: Callable[..., Answer], *arguments: Any) -> Answer:
    """A call by a worker of dask, which keeps the memory that it frees, as a local worker does.

    Nannies of dask start workers with a threshold of 64 KiB in the environment, above which glibc
    returns all memory to the kernel at once and no longer learns what is asked for again.
    """
    _keep_freed_memory_once()
    return function(*arguments)


@cache
def _keep_freed_memory_once() -> None:
    from ..devices import keep_freed_memory  # with torch, which takes seconds to load

    keep_freed_memory()


def _client(address: str | None, workers: int, gpu: dict[str, int] | None) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError("the dask engines need an extra: pip install 'sads[cluster]'") from error
    import logging

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the caller reports errors
    if address is not None:
        try:
            return Client(address, timeout=CONNECT_TIMEOUT)
        except (OSError, ValueError) as error:
            raise InputError(f"no dask scheduler at {address}: {brief(error)}") from error
    return Client(_local_cluster(workers, gpu))


def _local_cluster(workers: int, gpu: dict[str, int] | None) -> Any:
    """A cluster on this machine, which replaces workers however often they die."""
    import logging

    from dask import config
    from distributed import LocalCluster

    # A worker that starts slowly on a busy machine is not lost.
    config.set({"distributed.deploy.lost-worker-timeout": "1 day"})
    failed: Exception | None = None
    for _ in range(STARTS):  # a worker may be killed while it starts, but not for ever
        # The caller counts deaths; the scheduler need not try again.
        with config.set({"distributed.scheduler.allowed-failures": 0}):
            try:
                return LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=0,
                    dashboard_address=":0",  # any free port: two clusters may run side by side
                    silence_logs=logging.CRITICAL,
                    resources=gpu,
                )
            except RuntimeError as error:
                failed = error
    raise EngineError(f"dask workers cannot be started: {failed}") from failed


def usable_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_engine(name: str, workers: int | None) -> None:
    """Refuse the name of an unknown engine, before anything is started."""
    if workers is not None and workers < 1:
        raise InputError(f"an engine needs at least 1 worker, got {workers}")
    kind, colon, address = name.partition(":")
    if name != "local" and (kind != "dask" or bool(colon) != bool(address)):
        raise InputError(f"an engine is local, dask or dask:ADDRESS, got {name!r}")


def make_engine(
    name: str,
    *,
    workers: int | None = None,
    device: str = "cpu",
    log: Path | None = None,
    preload: Sequence[str] = (),
) -> Engine:
    """The engine of a name: `local`, `dask` or `dask:ADDRESS`.

    Args:
        name: the name of the engine.
        workers: calls at once; by default the cores of this machine, or the scheduler's threads.
        device: with `cuda`, dask is asked for a GPU for each call.
        log: file for the standard error of local workers.
        preload: modules that local workers import before their first call.
    """
    check_engine(name, workers)
    if name == "local":
        return LocalEngine(workers, log=log, preload=preload)
    return DaskEngine(name.partition(":")[2] or None, workers, device)
