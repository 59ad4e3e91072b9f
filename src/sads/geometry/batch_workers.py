"""Where the moments of batches are computed: in threads of this process, or elsewhere.

A batch is a function of the seed and its number, so any worker may compute it, in any order.
Batches are added in the order of their numbers, since sums of floating-point numbers depend on the
order.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import numpy as np
import torch
from jaxtyping import Float

from .running_sums import State
from .source import Source

Moment = Float[np.ndarray, "r r"]


class BatchWorkers(AbstractContextManager["BatchWorkers"]):
    """The workers that compute the batches of an estimate, as a context around the whole run."""

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all work now."""
        return

    def require(self, source: Source) -> None:
        """Refuse an estimate whose batches these workers cannot compute."""
        return

    def preparing(self) -> AbstractContextManager[None]:
        """How this process computes what comes before the batches."""
        return nullcontext()

    def here(self, device: str) -> str:
        """The device of this process, if the batches are computed on a device."""
        return device

    @abstractmethod
    def batches(self, source: Source, state: State, until: int) -> Iterator[tuple[Moment, int]]:
        """The moments of the batches that follow the state, in order, with their networks."""


class Threads(BatchWorkers):
    """Threads of this process, one torch thread each, that compute ahead."""

    def batches(self, source: Source, state: State, until: int) -> Iterator[tuple[Moment, int]]:
        threads = torch.get_num_threads()
        on_cpu = source.ensemble.device.type == "cpu"
        workers = threads if on_cpu and source.plan.batch > 1 else 1
        prepare_thread = partial(torch.set_num_threads, threads // workers)
        waiting: deque[tuple[Future[Moment], int]] = deque()
        numbered = batches_until(source, state, until)
        pool = ThreadPoolExecutor(workers, initializer=prepare_thread)
        try:
            while True:
                while len(waiting) <= workers and (following := next(numbered, None)):
                    batch, count = following
                    waiting.append((pool.submit(source.moment, batch, count), count))
                if not waiting:
                    return
                future, count = waiting.popleft()
                yield future.result(), count
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            torch.set_num_threads(threads)


def batches_until(source: Source, state: State, until: int) -> Iterator[tuple[int, int]]:
    """The numbers and sizes of the batches from a state up to a number of networks."""
    batch, networks = state.batches, state.networks
    while networks < until:
        count = min(source.plan.batch, until - networks)
        yield batch, count
        batch, networks = batch + 1, networks + count
