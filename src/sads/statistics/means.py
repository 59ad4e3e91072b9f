"""Means over seeds, with standard errors; pairs of equal seeds."""

import math
from collections.abc import Mapping, Sequence

from ..errors import InputError


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and standard error of the mean; no error for a single value.

    >>> mean_and_error([1.0, 3.0])
    (2.0, 1.0)
    """
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1) / len(values))


def paired_difference(
    first: Mapping[int, float], second: Mapping[int, float]
) -> tuple[float, float | None]:
    """Mean and standard error of first minus second over the seeds that both have."""
    common = sorted(first.keys() & second.keys())
    if not common:
        raise InputError("there is no seed that both have: nothing can be paired")
    return mean_and_error([first[seed] - second[seed] for seed in common])
