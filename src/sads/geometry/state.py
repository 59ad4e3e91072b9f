"""What is known after some networks: sums over folds, in float64.

Memory does not grow with the number of networks. Moments are symmetric: only the lower triangle is
kept, packed row by row, here and on disk.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..devices import require_memory
from ..directions import FOLDS
from ..inspection.readout import ReadOut

#: Bytes for each entry of the factor, at the peak. Sums of all folds are 48, a snapshot of them as
#: much; the spectrum stacks the folds. Measured at 1,600 rows: 123 to estimate, 298 with spectrum.
PEAK = 300
EXACT_PEAK = 64  # of a closed form: the factor, its eigenvectors and what the decomposition takes


def factor_bytes(readout: ReadOut, *, exact: bool = False) -> int:
    """Bytes that an estimate takes at its peak, its spectrum included."""
    return (EXACT_PEAK if exact else PEAK) * readout.structure.rows**2


def require_factor(readout: ReadOut, *, exact: bool = False) -> None:
    """Refuse a factor that cannot fit in memory.

    Raises:
        InputError: with the bytes that are needed and there.
    """
    rows = readout.structure.rows
    require_memory(
        factor_bytes(readout, exact=exact),
        f"a factor of {rows:,} x {rows:,} ({readout.structure.kind} on "
        f"{'x'.join(map(str, readout.shape))})",
        "choose a smaller shape",
    )


@dataclass
class State:
    """A running estimate.

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
        require_factor(readout)
        packed = packed_size(readout.structure.rows)
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

    def add(self, moment: Float[np.ndarray, "r r"], count: int) -> None:
        """Accumulate one batch into its fold."""
        fold = self.batches % len(self.counts)
        for row, part in enumerate(_rows(self.sums[fold])):
            part += moment[row, : row + 1]
        self.counts[fold] += count
        self.batches += 1

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
        return State(
            self.sums.copy(),
            self.counts.copy(),
            self.batches,
            self.next_check,
            self.seconds,
            self.finished,
        )


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
