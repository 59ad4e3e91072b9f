"""Sampling: from noise along the path to data, by one of the `solvers`.

No clipping of x_0. The noise of sample i comes from its block, and each block has its own seed, so
the result depends on the seed alone and not on how many samples are computed at once.

Chunks do not depend on each other, so several are computed at once, each by one thread of torch:
small networks do not keep two threads busy inside an operation. A chunk has the same bits in
any thread, so samples in several chunks do not depend on the number of threads.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TypedDict

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.lib.format import write_array_header_1_0
from torch import Tensor

from ..errors import InputError, SadsError
from ..networks.isolation import OwnDraws
from ..path import DiffusionPath
from ..randomness import Random, as_seed, torch_stream
from ..storage.files import atomic_write
from .solvers import Solver, Step, solver_named

BLOCK = 64  # samples that share a generator
MOST_SAMPLES = 10**9  # more is surely a mistake
MOST_STEPS = 1000  # by default
CHUNK = 64  # small enough that activations of small networks stay in the cache

Predictor = Callable[[Tensor, Tensor], Tensor]
OnStep = Callable[[int, int], None]  # steps done, and steps in all


class SamplingOptions(TypedDict, total=False):
    """Options of `sample_chunks`, which documents them; all have defaults."""

    steps: int | None
    eta: float | None
    solver: str | None
    seed: Random
    chunk: int
    first: int
    on_step: OnStep | None


class SamplingError(SadsError):
    """Raised for samples that cannot be used."""


def respaced(steps: int, schedule: DiffusionPath) -> Int[np.ndarray, " K"]:
    """Timesteps to visit, descending, evenly spread from the last to the first.

    >>> from sads.path import Schedule
    >>> respaced(4, Schedule()).tolist()
    [999, 666, 333, 0]
    """
    if not 1 <= steps <= schedule.steps:
        raise InputError(f"sampling takes 1 to {schedule.steps} steps, got {steps}")
    if steps == 1:
        return np.array([schedule.steps - 1])
    return np.linspace(schedule.steps - 1, 0, steps).round().astype(int)


def sample_chunks(
    predict: Predictor,
    shape: tuple[int, ...],
    count: int,
    schedule: DiffusionPath,
    *,
    steps: int | None = None,
    eta: float | None = None,
    solver: str | None = None,
    seed: Random = 0,
    chunk: int = CHUNK,
    first: int = 0,
    device: str = "cpu",
    on_step: OnStep | None = None,
    others: Sequence[Predictor] = (),
) -> Iterator[Float[Tensor, "n ..."]]:
    """Samples `first` to `count`, chunk by chunk.

    Args:
        predict: predicted noise for x (N, *shape) at t (N,).
        shape: shape of one sample.
        count: the number of samples.
        schedule: the path from data to noise.
        steps: the number of levels visited, evenly spaced; by default all, or a thousand of more.
        eta: the eta of DDIM's formula: 1 for ancestral, 0 for deterministic sampling.
        solver: `ddpm`, `ddim`, `euler` or `heun`. By default DDIM's formula if eta is given,
            otherwise `ddpm` if the path preserves variance and `euler` if not.
        seed: the seed of all noise, or a generator that gives one.
        chunk: samples computed at once; every batch has this size, the last is padded.
        first: leave out the samples before this one, because they are known already.
        device: where to compute.
        on_step: called with the steps done and the steps in all.
        others: further predictors like the first, each of which samples chunks in its own thread.
    """
    if count < 1 or chunk < 1:
        raise InputError(f"the number of samples starts at 1, got {count} in chunks of {chunk}")
    if count > MOST_SAMPLES:
        raise InputError(f"at most {MOST_SAMPLES:,} samples are drawn at a time, got {count:.3g}")
    if not 0 <= first <= count:
        raise InputError(f"the first sample is one of 0 to {count}, got {first}")
    rule = solver_named(solver, eta, schedule)
    seed = as_seed(seed)
    times = respaced(min(MOST_STEPS, schedule.steps) if steps is None else steps, schedule)
    chunk = min(chunk, count)
    starts = range(first, count, chunk)
    draws = OwnDraws(seed, "a network's own draws in sampling")
    pace = _Pace(len(times) * len(starts), on_step)
    sampler = _Sampler(rule, schedule, times, seed, chunk, shape, device, draws, pace)
    if not others or count <= chunk:
        chunks = (sampler.samples(predict, start) for start in starts)
    else:
        chunks = _in_threads(sampler, [predict, *others], starts)
    for start, x in zip(starts, chunks, strict=True):
        x = x[: min(chunk, count - start)].cpu()
        if not bool(torch.isfinite(x).all()):
            raise SamplingError(
                "the samples have NaN or infinite values: the network was not trained well enough "
                "or its parameters are damaged; nothing was written"
            )
        yield x


def threads_for(count: int, chunk: int) -> int:
    """The number of useful threads: no more than torch has, with at least one chunk for each."""
    return max(1, min(torch.get_num_threads(), -(-count // max(1, chunk))))


class _Stopped(Exception):  # noqa: N818 - not an error: nobody wants the samples any more
    """Raised to end a chunk that is no longer needed."""


class _Pace:
    """Counts the steps of all chunks, from any thread."""

    def __init__(self, total: int, on_step: OnStep | None):
        self.total, self.on_step = total, on_step
        self.done = 0
        self.stopped = False
        self._lock = threading.Lock()

    def step(self) -> None:
        if self.stopped:
            raise _Stopped
        with self._lock:
            self.done += 1
            if self.on_step is not None:
                self.on_step(self.done, self.total)


@dataclass(frozen=True)
class _Sampler:
    """Samples any chunk."""

    rule: Solver
    schedule: DiffusionPath
    times: Int[np.ndarray, " K"]
    seed: int
    chunk: int
    shape: tuple[int, ...]
    device: str
    draws: OwnDraws
    pace: _Pace

    def samples(self, predict: Predictor, start: int) -> Float[Tensor, "n ..."]:
        """The chunk that starts with a sample."""
        noise = _Noise(self.seed, start, self.chunk, self.shape)
        x = self.schedule.start * noise.draw().to(self.device)

        def ahead(y: Tensor, level: int) -> Tensor:
            return self.draws(partial(_predicted, predict, y, level), start, level, 1)

        for t, following in zip(self.times, [*self.times[1:], None], strict=True):
            eps = self.draws(partial(_predicted, predict, x, int(t)), start, int(t))
            target = None if following is None else int(following)
            step = Step(x, eps, int(t), target, self.schedule, ahead, noise.draw)
            x = _taken(self.rule, step)
            self.pace.step()
        return x


def _in_threads(
    sampler: _Sampler, predictors: Sequence[Predictor], starts: Iterable[int]
) -> Iterator[Float[Tensor, "n ..."]]:
    """Chunks in order, computed ahead by one thread for each predictor."""
    threads = torch.get_num_threads()
    free: SimpleQueue[Predictor] = SimpleQueue()
    for predict in predictors:
        free.put(predict)

    def one(start: int) -> Tensor:
        predict = free.get()
        try:
            return sampler.samples(predict, start)
        finally:
            free.put(predict)

    waiting: deque[Future[Tensor]] = deque()
    remaining = iter(starts)
    pool = ThreadPoolExecutor(len(predictors), initializer=partial(torch.set_num_threads, 1))
    try:
        while True:
            while len(waiting) <= len(predictors) and (start := next(remaining, None)) is not None:
                waiting.append(pool.submit(one, start))
            if not waiting:
                return
            yield waiting.popleft().result()
    finally:
        sampler.pace.stopped = True  # a running chunk ends after its next step
        pool.shutdown(wait=True, cancel_futures=True)
        torch.set_num_threads(threads)


@torch.inference_mode()
def _predicted(predict: Predictor, x: Tensor, t: int) -> Tensor:
    return predict(x, torch.full((len(x),), t, device=x.device)).float()


@torch.inference_mode()
def _taken(rule: Solver, step: Step) -> Tensor:
    return rule.take(step)


class _Noise:
    """Successive noise of samples start to start + count, the same however they are chunked."""

    def __init__(self, seed: int, start: int, count: int, shape: tuple[int, ...]):
        self.shape = shape
        first, last = start // BLOCK, (start + count - 1) // BLOCK
        self.part = slice(start - first * BLOCK, start - first * BLOCK + count)
        self.generators = [
            torch_stream(seed, "noise of samples", block) for block in range(first, last + 1)
        ]

    def draw(self) -> Float[Tensor, "n ..."]:
        blocks = [torch.randn(BLOCK, *self.shape, generator=g) for g in self.generators]
        return torch.cat(blocks)[self.part]


def write_samples(
    path: Path, chunks: Iterable[Float[np.ndarray, "n ..."]], shape: tuple[int, ...], count: int
) -> None:
    """Write chunks into a `.npy` file as they come; the file appears when it is complete."""

    def write(temporary: Path) -> None:
        # Ordinary writes, not a memory map: a full disk is then an error and not a signal.
        with open(temporary, "wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (count, *shape)}
            write_array_header_1_0(file, header)
            for chunk in chunks:
                file.write(np.ascontiguousarray(chunk, dtype="<f4").data)

    atomic_write(path, write)
