"""What is known after some networks: sums over folds, in float64.

Memory does not grow with the number of networks. Moments are symmetric; only the lower triangle
is stored and read, so that a stored and reloaded state continues bit for bit.
"""

import os
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ..directions import FOLDS
from ..errors import InputError
from .readout import ReadOut


@dataclass
class State:
    """A running estimate.

    Attributes:
        sums: summed moments of each fold, shape (folds, r, r).
        counts: networks in each fold.
        batches: batches accumulated.
        next_check: networks at which the error is looked at next.
        seconds: time spent so far.
        finished: whether the goal was reached.
    """

    sums: Float[np.ndarray, "K r r"]
    counts: Int[np.ndarray, " K"]
    batches: int = 0
    next_check: int = 0
    seconds: float = 0.0
    finished: bool = False

    @classmethod
    def empty(cls, readout: ReadOut) -> "State":
        rows = readout.structure.rows
        needed, there = (
            8 * FOLDS * rows**2,
            os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        )
        if 4 * needed > 3 * there:
            raise InputError(
                f"a factor of {rows} x {rows} needs {needed / 2**30:.0f} GiB of sums, this machine "
                f"has {there / 2**30:.0f}: choose a smaller --shape"
            )
        return cls(np.zeros((FOLDS, rows, rows)), np.zeros(FOLDS, dtype=np.int64))

    @property
    def networks(self) -> int:
        return int(self.counts.sum())

    def add(self, moment: Float[np.ndarray, "r r"], count: int) -> None:
        """Accumulate one batch into its fold."""
        fold = self.batches % len(self.counts)
        self.sums[fold] += moment
        self.counts[fold] += count
        self.batches += 1

    def mean(self, which: Int[np.ndarray, " k"]) -> Float[np.ndarray, "r r"]:
        """The mean moment of some folds, symmetric."""
        total = np.zeros_like(self.sums[0])
        for fold in which:  # without a copy of all of them
            total += self.sums[fold]
        total = np.tril(total / self.counts[which].sum())
        return total + np.tril(total, -1).T

    def snapshot(self) -> "State":
        """A copy that later batches do not change."""
        return State(
            self.sums.copy(),
            self.counts.copy(),
            self.batches,
            self.next_check,
            self.seconds,
            self.finished,
        )
