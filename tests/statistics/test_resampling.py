"""Permutation p-values, bootstrap and jackknife against SciPy, brute force and their levels."""

import math

import numpy as np
import pytest
import scipy.stats

from sads.figures.verdict import above
from sads.statistics.resampling import (
    bootstrap_difference,
    bootstrap_interval,
    jackknife,
    p_value,
    percentiles,
)


def test_intervals_of_pairs_have_their_level():
    """Means over pairs of five units, which are not independent: covered in 95 % +- 3 %.

    s_pq = a_p + a_q + noise, the usual model of what pairs share; 1,000 draws.
    """
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(1_000):
        a, noise = rng.standard_normal(5), 0.3 * rng.standard_normal((5, 5))
        pairs = {(p, q): a[p] + a[q] + noise[p, q] for p in range(5) for q in range(p)}
        covered += above(jackknife(pairs)[1]) is None
    assert abs(covered / 1_000 - 0.95) < 0.03
    assert jackknife({(0, 1): 0.5}) == (0.5, None)


def test_a_bootstrap_interval_contains_its_estimate():
    values = np.random.default_rng(0).standard_normal(50)
    low, high = bootstrap_interval(50, lambda chosen: values[chosen].mean())
    assert low < values.mean() < high
    error = values.std() / math.sqrt(50)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_p_values_are_those_of_scipys_permutation_test():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(8), rng.standard_normal(6) + 1.0
    pooled = np.concatenate([x, y])

    def difference(a, b):
        return b.mean() - a.mean()

    drawn = [difference(*np.split(rng.permutation(pooled), [8])) for _ in range(4_999)]
    ours = p_value(difference(x, y), np.array(drawn))
    exact = scipy.stats.permutation_test(
        (x, y), difference, alternative="greater", n_resamples=np.inf
    )
    assert ours == pytest.approx(exact.pvalue, abs=4 * math.sqrt(exact.pvalue / 4_999))


def test_p_values_count_ties_and_know_no_zero():
    chance = np.array([1.0, 1.0 - 1e-12, 0.5])
    assert p_value(1.0, chance) == 2 / 4
    assert p_value(1.0, chance, tie=1e-9) == 3 / 4
    assert p_value(9.0, chance) == 1 / 4
    assert p_value(math.nan, chance) == 1.0


def test_percentiles_leave_out_what_has_no_value():
    draws = np.append(np.arange(101.0), np.nan)
    assert percentiles(draws) == pytest.approx((2.5, 97.5))
    assert all(map(math.isnan, percentiles(np.array([np.nan, np.nan]))))


def test_a_jackknife_of_plain_means_is_students_interval():
    """Pairs that are sums of two units: their mean is twice that of the units, and so its error."""
    units = np.random.default_rng(0).standard_normal(6)
    pairs = {(p, q): units[p] + units[q] for p in range(6) for q in range(p)}
    mean, interval = jackknife(pairs)
    expected = scipy.stats.t.interval(
        0.95, 5, loc=2 * units.mean(), scale=2 * scipy.stats.sem(units)
    )
    assert mean == pytest.approx(2 * units.mean())
    assert interval == pytest.approx(expected)


def test_a_difference_of_means_has_the_spread_of_units_and_seeds():
    """Independent units without an effect of seeds: the interval is that of two samples."""
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal((60, 1)) + 1.0, rng.standard_normal((40, 1))
    first, second = np.repeat(first, 2, axis=1), np.repeat(second, 2, axis=1)
    low, high = bootstrap_difference(first, second, 2_000, np.random.default_rng(0))
    value = first.mean() - second.mean()
    assert low < value < high
    error = math.sqrt(first[:, 0].var() / 60 + second[:, 0].var() / 40)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)
