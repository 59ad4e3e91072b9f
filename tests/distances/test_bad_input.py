"""Every input that cannot be used is refused with one clear line."""

from collections.abc import Callable

import numpy as np
import pytest

from sads.distances import (
    gaussian_wasserstein,
    gaussian_wasserstein_1d,
    max_sliced_wasserstein,
    sliced_wasserstein,
)
from sads.errors import InputError

X = np.random.default_rng(0).standard_normal((6, 3))
NAN = np.where(np.arange(18).reshape(6, 3) == 7, np.nan, X)
INFINITE = np.where(np.arange(18).reshape(6, 3) == 7, -np.inf, X)


@pytest.mark.parametrize("distance", [sliced_wasserstein, max_sliced_wasserstein])
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, X[:, :2], "same number of values, got 3 in x and 2 in y"),
        (X.reshape(6, 3, 1), X, r"x must have shape \(samples, D\), got \(6, 3, 1\)"),
        (X, X[:, 0], r"y must have shape \(samples, D\), got \(6,\)"),
        (X[:0], X, r"x needs at least \d sample"),
        (X, X[:, :0], r"y needs at least \d sample"),
        (NAN, X, "x has non-finite values"),
        (X, INFINITE, "y has non-finite values"),
        (X, 1e35 * X, "y has values beyond 1e\\+30"),
        (X, np.ones((6, 3), dtype=np.uint8), "y must hold real floats, got uint8"),
        (X * 1j, X, "x must hold real floats, got complex128"),
    ],
)
def test_samples(distance: Callable, x: np.ndarray, y: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        distance(x, y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"directions": np.eye(4)}, r"directions must have shape \(L, 3\), got \(4, 4\)"),
        ({"directions": np.ones(3)}, r"directions must have shape \(L, 3\), got \(3,\)"),
        ({"directions": np.ones((0, 3))}, r"directions must have shape \(L, 3\), got \(0, 3\)"),
        ({"directions": np.diag([1.0, 0, 1])}, "row 1 of directions is zero"),
        ({"directions": np.diag([1.0, np.nan, 1])}, "directions has non-finite values"),
        ({"directions": np.eye(3), "projections": 3}, "not both"),
        ({"directions": np.eye(3), "orthogonal": True}, "not both"),
        ({"projections": 0}, "projections must be at least 1, got 0"),
        ({"chunk": 0}, "chunk must be at least 1, got 0"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"generator": -1}, "a seed is a whole number from 0 to .*, got -1"),
    ],
)
def test_options_of_sliced(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sliced_wasserstein(X, X, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": np.eye(4)}, r"candidates must have shape \(L, 3\), got \(4, 4\)"),
        ({"candidates": np.zeros((1, 3))}, "row 0 of candidates is zero"),
        ({"restarts": -1}, "restarts must be at least 0, got -1"),
        ({"permutations": 0}, "permutations must be at least 1, got 0"),
        ({"generator": -1}, "a seed is a whole number from 0 to .*, got -1"),
    ],
)
def test_options_of_max_sliced(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        max_sliced_wasserstein(X, X, **options)


def test_max_sliced_needs_four_samples_to_split() -> None:
    with pytest.raises(InputError, match=r"y needs at least 4 sample\(s\)"):
        max_sliced_wasserstein(X, X[:3])
    assert max_sliced_wasserstein(X[:4], X[:4], permutations=1).p_value > 0


@pytest.mark.parametrize(
    ("sample", "options", "message"),
    [
        (X, {"std": 1}, r"sample must have shape \(N,\)"),
        (X[:0, 0], {"std": 1}, r"sample must have shape \(N,\) with N of at least 1, got \(0,\)"),
        (NAN[:, 1], {"std": 1}, "sample has non-finite values"),
        (X[:, 0], {"std": -1.0}, "std finite and >= 0, got 0.0 and -1.0"),
        (X[:, 0], {"std": 1, "mean": np.nan}, "mean must be finite"),
        (X[:, 0], {"std": np.inf}, "std finite"),
    ],
)
def test_gaussian(sample: np.ndarray, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gaussian_wasserstein_1d(sample, **options)


@pytest.mark.parametrize(
    ("direction", "message"),
    [
        (np.ones(4), r"direction must have shape \(3,\), got \(4,\)"),
        (np.eye(3), r"direction must have shape \(3,\), got \(3, 3\)"),
        (np.zeros(3), "direction is zero"),
    ],
)
def test_direction_to_the_gaussian(direction: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gaussian_wasserstein(X, direction, std=1)
