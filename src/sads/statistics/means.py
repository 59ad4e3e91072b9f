"""Means over seeds, with standard errors and Student's intervals; pairs of equal seeds."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from ..errors import InputError

CONFIDENCE = 0.95  # the level of every interval in this package

Interval = tuple[float, float]
Unit = TypeVar("Unit", bound=Hashable)


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


def mean_interval(values: Sequence[float]) -> tuple[float | None, Interval | None]:
    """Mean and 95 % Student interval, mean -+ t_{n-1} s / sqrt(n), which needs two values.

    >>> mean_interval([2.0])
    (2.0, None)
    """
    import numpy as np  # reading results needs neither
    from scipy.special import stdtrit

    if not len(values):
        return None, None
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    half = float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * error
    return mean, (mean - half, mean + half)


def paired_differences(first: Mapping[int, float], second: Mapping[int, float]) -> list[float]:
    """First minus second for each seed that both have, in the order of the seeds.

    >>> paired_differences({0: 5.0, 1: 7.0}, {1: 4.0, 2: 9.0})
    [3.0]
    """
    return [first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())]


def paired_values(
    measured: Iterable[tuple[Unit, int, float]],
) -> tuple[tuple[int, ...], dict[Unit, list[float]]]:
    """Values by unit and seed, for the seeds that all units have.

    Means over different seeds would not be comparable, so the others are left out.

    Args:
        measured: unit, seed and value.

    Returns:
        The seeds in ascending order, and the values of each unit in the order of the seeds.

    >>> paired_values([("a", 0, 1.0), ("a", 1, 2.0), ("b", 1, 3.0)])
    ((1,), {'a': [2.0], 'b': [3.0]})
    """
    units: dict[Unit, dict[int, float]] = {}
    for unit, seed, value in measured:
        units.setdefault(unit, {})[seed] = value
    seeds = tuple(sorted(set.intersection(*({*by_seed} for by_seed in units.values()))))
    return seeds, {unit: [by_seed[s] for s in seeds] for unit, by_seed in units.items()}


def paired_difference(
    first: Mapping[int, float], second: Mapping[int, float]
) -> tuple[float, float | None]:
    """Mean and standard error of first minus second over the seeds that both have."""
    differences = paired_differences(first, second)
    if not differences:
        raise InputError("the two have no seed in common: nothing can be paired")
    return mean_and_error(differences)
