"""Sampling: from noise along the path to data, by one of the `solvers`.

No clipping of x_0. Sample i gets its noise from a block of samples of its own seed, so the result
depends on the seed alone and not on how many samples are computed at once.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
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
MOST_STEPS = 1000  # unless more are asked for
CHUNK = 64  # activations of small networks then stay in the cache

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
    """Samples that are of no use."""


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
) -> Iterator[Float[Tensor, "n ..."]]:
    """Samples `first` to `count`, some at a time.

    Args:
        predict: predicted noise for x (N, *shape) at t (N,).
        shape: shape of one sample.
        count: how many, any number.
        schedule: the path from data to noise.
        steps: levels visited, at most a thousand unless given; fewer than all are evenly respaced.
        eta: of DDIM's formula, 1 for ancestral sampling, 0 for the deterministic one.
        solver: `ddpm`, `ddim`, `euler` or `heun`; unless given, DDIM's formula with eta, without
            eta `ddpm` where the path preserves variance and `euler` elsewhere.
        seed: of all noise, or a generator that gives one.
        chunk: samples computed at once; every batch has this size, the last is padded.
        first: leave out the samples before this one, which are known already.
        device: where to compute.
        on_step: called with steps done and steps in all.
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
    total, done = len(times) * -(-(count - first) // chunk), 0
    draws = OwnDraws(seed, "a network's own draws in sampling")
    for start in range(first, count, chunk):
        noise = _Noise(seed, start, chunk, shape)
        x = schedule.start * noise.draw().to(device)
        for t, following in zip(times, [*times[1:], None], strict=True):
            eps = draws(partial(_predicted, predict, x, int(t)), start, int(t))

            def ahead(y: Tensor, level: int, start: int = start) -> Tensor:
                return draws(partial(_predicted, predict, y, level), start, level, 1)

            target = None if following is None else int(following)
            x = _taken(rule, Step(x, eps, int(t), target, schedule, ahead, noise.draw))
            done += 1
            if on_step is not None:
                on_step(done, total)
        x = x[: min(chunk, count - start)].cpu()
        if not bool(torch.isfinite(x).all()):
            raise SamplingError(
                "the samples have NaN or infinite values: the network was not trained well enough "
                "or its parameters are damaged; nothing was written"
            )
        yield x


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
    """Write chunks into a `.npy` file as they come; the file appears when it is whole."""

    def write(temporary: Path) -> None:
        # Ordinary writes, not a memory map: a full disk is then an error and not a signal.
        with open(temporary, "wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (count, *shape)}
            write_array_header_1_0(file, header)
            for chunk in chunks:
                file.write(np.ascontiguousarray(chunk, dtype="<f4").data)

    atomic_write(path, write)
