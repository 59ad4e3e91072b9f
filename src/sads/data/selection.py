"""Which samples of a finite set are used: a split, a count and a seed.

The split depends on the number of samples alone: a fixed permutation, the same for every seed, puts
the last sixth aside. So `train` and `held-out` are disjoint for all seeds and counts, and an
evaluation on `held-out` never sees a training sample. The seed only decides which
`count` samples of the split are drawn, and in which order.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ..errors import InputError
from ..randomness import checked_seed, fixed_stream, stream

SPLITS = ("train", "held-out")
HELD_OUT = 6  # one sample in so many
# Which samples are held out is part of what a dataset is: the same in every version of the draws.
_PERMUTATION = 0x5AD5


@dataclass(frozen=True)
class Selection:
    """A choice of samples.

    Attributes:
        split: `train`, `held-out` or None for both together.
        count: the number of samples drawn without replacement; None for all in their own order.
        seed: the seed of the draw.
    """

    split: str | None = None
    count: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 1:
            raise InputError(f"count is at least 1, got {self.count}")
        checked_seed(self.seed)
        if self.split is not None and self.split not in SPLITS:
            raise InputError(f"split is {' or '.join(SPLITS)}, got {self.split!r}")

    def whole(self) -> "Selection":
        """The same draw without a split, for datasets with a separate file for each split."""
        return Selection(None, self.count, self.seed)

    def order(self, total: int) -> Int[np.ndarray, " n"]:
        """Indices of all samples of the split, in the order in which they are taken."""
        rows = _split_rows(total, self.split)
        if self.count is None:
            return rows
        return rows[stream(self.seed, "samples of a finite set").permutation(len(rows))]

    def rows(self, total: int, name: str) -> Int[np.ndarray, " n"]:
        """Indices of the chosen samples out of `total`.

        >>> Selection("held-out").rows(12, "digits").tolist()
        [1, 10]
        """
        order = self.order(total)
        self.check(len(order), name)
        return order[: self.count]

    def check(self, available: int, name: str) -> None:
        """Raise if there are fewer samples than asked for."""
        if self.count is not None and self.count > available:
            which = f"{self.split} samples" if self.split else "samples"
            raise InputError(
                f"{name} has {available:,} {which}, asked for {self.count:,}: lower count"
            )


def _split_rows(total: int, split: str | None) -> Int[np.ndarray, " n"]:
    if split is None:
        return np.arange(total)
    if total < 2:
        raise InputError(f"a split needs at least 2 samples, got {total}: leave split out")
    mixed = fixed_stream(_PERMUTATION).permutation(total)
    held_out = max(1, total // HELD_OUT)
    return np.sort(mixed[-held_out:] if split == "held-out" else mixed[:-held_out])
