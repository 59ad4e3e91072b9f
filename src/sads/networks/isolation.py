"""Other people's code, isolated from ours through the global state of the generators.

A factory draws from torch's, NumPy's and Python's global generators. Before it runs, these start
from streams of their own, which no plain `torch.manual_seed(k)` repeats, and afterwards they are
restored. A factory that seeds them itself would make the same network every time, so the seeding
functions do nothing while it runs.
"""

import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch

from ..errors import InputError
from ..randomness import start_global_generators, start_global_generators_as_before

Result = TypeVar("Result")

# All threads share the generators; while one draws from them, the others wait.
_GLOBAL_STATE = threading.RLock()
_SEEDING: tuple[tuple[Any, str], ...] = (
    (torch, "manual_seed"),
    (torch.random, "manual_seed"),
    (torch, "seed"),
    (torch, "set_rng_state"),
    (np.random, "seed"),
    (random, "seed"),
)


@contextmanager
def global_state_kept() -> Iterator[None]:
    """Restore the global generators afterwards."""
    # Legacy NumPy state: other people's code may still draw from it.
    with _GLOBAL_STATE:
        python, legacy, of_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    try:
        yield
    finally:
        with _GLOBAL_STATE:
            random.setstate(python)
            np.random.set_state(legacy)  # noqa: NPY002
            torch.set_rng_state(of_torch)


def seeded(run: Callable[[], Result], seed: int, purpose: str) -> Result:
    """What a callable returns if the global generators start from a seed."""
    return _started(run, lambda: start_global_generators(seed, purpose))


def seeded_as_before(run: Callable[[], Result]) -> Result:
    """What a callable returns if the global generators start as fingerprints need it."""
    return _started(run, start_global_generators_as_before)


def _started(run: Callable[[], Result], start: Callable[[], None]) -> Result:
    with _GLOBAL_STATE, global_state_kept():
        start()
        with _seeding_disabled():
            return run()


class OwnDraws:
    """Calls whose draws from the global generators depend only on a seed and the call's keys.

    Dropout and stochastic depth draw while a network is called. The first call shows whether a
    network does. If it does not, later calls are not seeded, because seeding takes time and makes
    threads wait for each other.

    Args:
        seed: the seed of all draws.
        purpose: what is drawn, see `sads.randomness`.
    """

    def __init__(self, seed: int, purpose: str):
        self.seed = seed
        self.purpose = purpose
        self.drawn: bool | None = None

    def __call__(self, run: Callable[[], Result], *keys: int) -> Result:
        """What `run` returns."""
        if self.drawn is False:
            return run()
        # Seeding functions stay enabled: compilers restore the state with them.
        with _GLOBAL_STATE, global_state_kept():
            start_global_generators(self.seed, self.purpose, *keys)
            return self._watched(run)

    def _watched(self, run: Callable[[], Result]) -> Result:
        before = None if self.drawn else _positions()
        result = run()
        if not self.drawn:
            self.drawn = _positions() != before
        return result


def _positions() -> tuple[object, ...]:
    """The states of the global generators."""
    legacy: Any = np.random.get_state()  # noqa: NPY002
    words = legacy[1].tobytes(), *legacy[2:]
    return random.getstate(), words, torch.get_rng_state().numpy().tobytes()


@contextmanager
def _seeding_disabled() -> Iterator[None]:
    kept = [(owner, name, getattr(owner, name)) for owner, name in _SEEDING]
    try:
        for owner, name, _ in kept:
            setattr(owner, name, lambda *args, **kwargs: torch.default_generator)
        yield
    finally:
        for owner, name, original in kept:
            setattr(owner, name, original)


@contextmanager
def time_limit(seconds: float, what: str) -> Iterator[None]:
    """Stop Python code that takes longer; this has no effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise InputError(
            f"{what} did not finish within {seconds:g} s: move work and waiting into the factory"
        )

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
