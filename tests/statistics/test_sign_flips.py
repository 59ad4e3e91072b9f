"""Sign flips against loops over all patterns, and the size of a difference against its truth."""

from itertools import product

import numpy as np
import pytest

from sads.statistics.sign_flips import judged, linear, quadratic, u_statistic


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
    alone = judged([statistics], 0.5)
    np.testing.assert_allclose(alone.p_values[0], [2 / 4, 4 / 4])
    assert alone.p_value == 2 / 4
    # Alone the p-values of the patterns are 2/4, 3/4, 1, 1/4 and 3/4, 1/4, 3/4, 1.
    both = judged([statistics[:, :1], statistics[:, 1:]], 0.5)
    assert both.p_value == 3 / 4
    np.testing.assert_allclose(np.concatenate(both.p_values), [3 / 4, 1])


@pytest.mark.parametrize("level", [0.002, 0.01, 0.05, 0.3])
def test_a_statistic_above_the_critical_value_is_one_with_a_small_p_value(level):
    rng = np.random.default_rng(3)
    for seed in range(20):
        values = rng.standard_normal((12, 3)) + rng.uniform(0, 2, 3)
        families = [linear(values), linear(rng.standard_normal((12, 1)) + seed / 10)]
        verdict = judged(families, level)
        for family, p_values, critical in zip(
            families, verdict.p_values, verdict.critical, strict=True
        ):
            np.testing.assert_array_equal(family[0] > critical, p_values <= level)
        assert verdict.p_value == min(p.min() for p in verdict.p_values)


def test_no_difference_has_p_value_one():
    verdict = judged([linear(np.zeros((12, 3))), quadratic(np.zeros((2, 12, 12)))], 0.01)
    assert verdict.p_value == 1


def test_as_many_bands_as_one_likes_leave_the_smallest_p_value():
    rng = np.random.default_rng(1)
    values = rng.standard_normal((12, 500))
    values[:, 7] = 1 + 0.01 * rng.standard_normal(12)
    p_values = judged([linear(values)], 0.01).p_values[0]
    assert p_values[7] <= 2 / 2048
    assert np.sort(p_values)[1] > 0.05


def test_size_is_unbiased_and_its_error_is_the_spread():
    rng = np.random.default_rng(2)
    truth = np.array([0.3, -0.2, 0.1])
    weights = np.array([1, 2, 2, 3, 1, 1, 2, 3, 2, 1, 3, 3.0])
    weights /= weights.sum()
    sizes = []
    for _ in range(2000):
        noise = rng.standard_normal((12, 3)) * 0.05 / np.sqrt(weights[:, None])
        d = weights[:, None] * (truth + noise)
        sizes.append(u_statistic(d @ d.T, weights))
    u, errors = np.array(sizes).T
    # 2,000 repetitions: the mean is known to spread / 45, four of which are allowed.
    assert u.mean() == pytest.approx(truth @ truth, abs=4 * u.std() / np.sqrt(2000))
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(u.std(), rel=0.15)
