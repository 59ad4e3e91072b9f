"""Progress without a terminal: a plain line on standard error now and then.

The log of a batch job then says whether it is alive and when it will be done. A short run writes no
lines. A separate thread writes them, so that they appear even during one long call.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

FIRST_SECONDS = 5.0  # before the first line
EVERY_SECONDS = 30.0  # between two lines


@contextmanager
def lines(describe: Callable[[], str]) -> Iterator[None]:
    """Write what `describe` returns, first after a while and then at regular intervals."""
    over = threading.Event()

    def speak() -> None:
        pause = FIRST_SECONDS
        while not over.wait(pause):
            with suppress(OSError, ValueError):  # standard error is closed
                print(f"sads: {describe()}", file=sys.stderr, flush=True)
            pause = EVERY_SECONDS

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        over.set()
        speaker.join()


@dataclass
class Count:
    """How far work in steps has come, in words.

    Attributes:
        title: what runs.
        unit: what is counted.
        done: how many are done.
        total: how many there are; None where that is not known.
        note: what else is known.
        first: `done` and the clock at the first update, for the pace.
    """

    title: str
    unit: str
    done: int = 0
    total: int | None = None
    note: str = ""
    first: tuple[int, float] | None = None
    clock: Callable[[], float] = field(default=time.monotonic)

    def update(self, done: int, total: int | None, note: str) -> None:
        self.done, self.total, self.note = done, total, note
        self.first = self.first or (done, self.clock())

    def seconds_left(self) -> float | None:
        """The time left at the pace since the first update; None where that is not known."""
        if self.first is None or self.total is None or self.done <= self.first[0]:
            return None
        pace = (self.clock() - self.first[1]) / (self.done - self.first[0])
        return max(0.0, pace * (self.total - self.done))

    def __str__(self) -> str:
        from ..presentation.numbers import span

        of = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{self.title}: {self.done:,}{of} {self.unit}", self.note]
        left = self.seconds_left()
        parts.append("" if left is None else f"about {span(left)} left")
        return ", ".join(part for part in parts if part)


@dataclass
class Stage:
    """What is being done, and since when."""

    text: str
    started: float = field(default_factory=time.monotonic)

    def change(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        from ..presentation.numbers import span

        return f"{self.text}, {span(time.monotonic() - self.started)} so far"
