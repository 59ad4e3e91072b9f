"""What is known after some networks: sums over folds, in float64.

Memory does not grow with the number of networks. Moments are symmetric: only the lower triangle is
kept, packed row by row, here and on disk.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..directions import FOLDS
from ..inspection.readout_base import ReadOut


@dataclass(frozen=True)
class State:
    """How far an estimate has come.

    Attributes:
        sums: packed summed moments of each fold, p = r (r + 1) / 2 entries.
        counts: networks in each fold.
        batches: batches accumulated.
        next_check: networks at which the error is looked at next.
        seconds: time spent so far.
        finished: whether the goal was reached.
    """

    sums: Float[np.ndarray, "K p"]
    counts: Int[np.ndarray, " K"]
    batches: int = 0
    next_check: int = 0
    seconds: float = 0.0
    finished: bool = False

    @classmethod
    def empty(cls, readout: ReadOut) -> "State":
        readout.require_memory()
        packed = packed_size(readout.accumulated)
        return cls(np.zeros((FOLDS, packed)), np.zeros(FOLDS, dtype=np.int64))

    @classmethod
    def of(
        cls, moments: Float[np.ndarray, "K r r"], counts: Int[np.ndarray, " K"], **progress: Any
    ) -> "State":
        """A state with the given summed moments."""
        return cls(moments[:, *np.tril_indices(moments.shape[1])], counts, **progress)

    @property
    def networks(self) -> int:
        return int(self.counts.sum())

    def with_batch(self, moment: Float[np.ndarray, "r r"], count: int) -> "State":
        """The state after one more batch, of so many networks.

        The batch is added to the sums in place, since they are large: this state is not to be used
        afterwards. What is shown to others is a `snapshot`.
        """
        fold = self.batches % len(self.counts)
        for row, part in enumerate(_rows(self.sums[fold])):
            part += moment[row, : row + 1]
        self.counts[fold] += count
        return replace(self, batches=self.batches + 1)

    def mean(self, which: Int[np.ndarray, " k"]) -> Float[np.ndarray, "r r"]:
        """The mean moment of some folds, symmetric."""
        total = np.zeros_like(self.sums[0])
        for fold in which:  # without a copy of all of them
            total += self.sums[fold]
        total /= self.counts[which].sum()
        size = (math.isqrt(8 * len(total) + 1) - 1) // 2
        whole = np.empty((size, size))
        for row, part in enumerate(_rows(total)):
            whole[row, : row + 1] = part
            whole[:row, row] = part[:-1]
        return whole

    def snapshot(self) -> "State":
        """A copy that later batches do not change."""
        return replace(self, sums=self.sums.copy(), counts=self.counts.copy())


def packed_size(rows: int) -> int:
    """Entries of the lower triangle of a matrix."""
    return rows * (rows + 1) // 2


def _rows(packed: Float[np.ndarray, " p"]) -> Iterator[Float[np.ndarray, " i"]]:
    """Views of the rows of a lower triangle.

    >>> [row.tolist() for row in _rows(np.arange(6.0))]
    [[0.0], [1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    start, length = 0, 1
    while start < len(packed):
        yield packed[start : start + length]
        start, length = start + length, length + 1
