"""The shape of a measure over directions, determined by paired contrasts over seeds.

Directions are ordered by eigenvalue, the largest first. Let y[d, s] be the measure of direction d
and seed s, and m_s its mean over all directions but the first and the last. There are two contrasts

    first contrast  y[0, s] - m_s,      last contrast  y[-1, s] - m_s,

each with Student's 95 % interval over the seeds. Relative to the mean of m, an end is *level* if
its interval lies within `FLAT` on either side of zero, else *above* or *below* if the interval does
not contain zero, else unknown. The shape is

| first        | last         | shape                          |
|--------------|--------------|--------------------------------|
| above        | below, level | rising with the eigenvalue     |
| below        | above, level | falling                        |
| level        | below        | rising                         |
| level        | above        | falling                        |
| above        | above        | U                              |
| below        | below        | inverted U                     |
| level        | level        | flat                           |

and `open` if an end is unknown or there are too few seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .means import Interval, mean_interval

FLAT = 0.1  # as a share of the mean over the middle directions
LEAST_SEEDS = 5  # with fewer seeds the shape is open

_SHAPES = {
    ("above", "below"): "rising",
    ("above", "level"): "rising",
    ("level", "below"): "rising",
    ("below", "above"): "falling",
    ("below", "level"): "falling",
    ("level", "above"): "falling",
    ("above", "above"): "U",
    ("below", "below"): "inverted U",
    ("level", "level"): "flat",
}


@dataclass(frozen=True)
class Contrast:
    """The difference of one end from the middle: its mean over seeds and 95 % interval.

    Both are shares of the mean over the middle directions.
    """

    value: float
    interval: Interval | None

    @property
    def stands(self) -> str:
        """`above`, `below` or `level` with the middle, or `unknown`."""
        if self.interval is None:
            return "unknown"
        low, high = self.interval
        if low >= -FLAT and high <= FLAT:
            return "level"
        if low > 0:
            return "above"
        return "below" if high < 0 else "unknown"


@dataclass(frozen=True)
class Shape:
    """The shape of a measure over directions.

    Attributes:
        middle: the mean over seeds and all directions but the first and the last.
        first: the contrast of the largest eigenvalue.
        last: the contrast of the smallest.
        seeds: the number of seeds.
    """

    middle: float
    first: Contrast
    last: Contrast
    seeds: int

    @property
    def name(self) -> str:
        """`rising`, `falling`, `U`, `inverted U`, `flat` or `open`."""
        if self.seeds < LEAST_SEEDS:
            return "open"
        return _SHAPES.get((self.first.stands, self.last.stands), "open")


def shape_of(table: Float[np.ndarray, "d s"]) -> Shape:
    """The shape of a measure.

    Args:
        table: y[d, s] of at least three directions, the largest eigenvalue first, with a positive
            mean.

    >>> shape_of(np.array([[9.0] * 5, [4.0] * 5, [6.0] * 5, [2.0] * 5])).name
    'rising'
    """
    middle = table[1:-1].mean(axis=0)
    whole = float(middle.mean())
    first, last = (_contrast((end - middle) / whole) for end in (table[0], table[-1]))
    return Shape(whole, first, last, table.shape[1])


def _contrast(shares: Sequence[float] | Float[np.ndarray, " s"]) -> Contrast:
    value, interval = mean_interval(list(shares))
    return Contrast(float("nan") if value is None else value, interval)
