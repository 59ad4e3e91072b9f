"""Sign flips against loops over all patterns, and the size of a difference against its truth."""

from itertools import product

import numpy as np
import pytest

from sads.comparison.sign_flips import (
    adjusted_p_values,
    combined_p_value,
    linear,
    quadratic,
    u_statistic,
)


def patterns(count: int) -> list[tuple[float, ...]]:
    return [(1.0, *rest) for rest in product((1.0, -1.0), repeat=count - 1)]


def test_statistics_are_those_of_all_sign_patterns():
    rng = np.random.default_rng(0)
    d = rng.standard_normal((5, 3, 4))  # five folds of three vectors
    grams = np.einsum("fbi,gbi->bfg", d, d)
    lines, squares = linear(d[:, :, 0]), quadratic(grams)
    for row, signs in enumerate(patterns(5)):
        for band in range(3):
            total = abs(sum(s * x for s, x in zip(signs, d[:, band, 0], strict=True)))
            expected = total / np.sqrt(sum(x**2 for x in d[:, band, 0]))
            assert lines[row, band] == pytest.approx(expected)
            pairs = [(f, g) for f in range(5) for g in range(5) if f != g]
            inner = {(f, g): d[f, band] @ d[g, band] for f, g in pairs}
            expected = sum(signs[f] * signs[g] * inner[f, g] for f, g in pairs)
            expected /= np.sqrt(sum(x**2 for x in inner.values()))
            assert squares[row, band] == pytest.approx(expected)


def test_p_values_count_patterns_that_reach_the_data():
    statistics = np.array([[3.0, 1.0], [1.0, 2.0], [0.0, 1.0], [3.5, 0.0]])
    # The largest of each pattern are 3, 2, 1 and 3.5.
    np.testing.assert_allclose(adjusted_p_values(statistics), [2 / 4, 4 / 4])
    # Alone the p-values of the patterns are 2/4, 3/4, 1, 1/4 and 3/4, 1/4, 3/4, 1.
    assert combined_p_value([statistics[:, 0], statistics[:, 1]]) == 3 / 4
    assert combined_p_value([statistics[:, 0]]) == 2 / 4


def test_no_difference_has_p_value_one():
    zero = np.zeros((12, 3))
    assert (adjusted_p_values(linear(zero)) == 1).all()
    assert (adjusted_p_values(quadratic(np.zeros((2, 12, 12)))) == 1).all()


def test_as_many_bands_as_one_likes_leave_the_smallest_p_value():
    rng = np.random.default_rng(1)
    values = rng.standard_normal((12, 500))
    values[:, 7] = 1 + 0.01 * rng.standard_normal(12)
    p_values = adjusted_p_values(linear(values))
    assert p_values[7] <= 2 / 2048
    assert np.sort(p_values)[1] > 0.05


def test_size_is_unbiased_and_its_error_is_the_spread():
    rng = np.random.default_rng(2)
    truth = np.array([0.3, -0.2, 0.1])
    weights = np.array([1, 2, 2, 3, 1, 1, 2, 3, 2, 1, 3, 3.0])
    weights /= weights.sum()
    found = []
    for _ in range(2000):
        noise = rng.standard_normal((12, 3)) * 0.05 / np.sqrt(weights[:, None])
        d = weights[:, None] * (truth + noise)
        found.append(u_statistic(d @ d.T, weights))
    u, errors = np.array(found).T
    # 2,000 repetitions: the mean is known to spread / 45, four of which are allowed.
    assert u.mean() == pytest.approx(truth @ truth, abs=4 * u.std() / np.sqrt(2000))
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(u.std(), rel=0.15)
