"""Rank correlations against SciPy and brute force, and the levels of their intervals."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from sads.statistics.ranks import (
    bootstrapped,
    coefficients,
    permuted,
    rank_correlation,
    reliability,
)

numbers = st.lists(st.integers(-4, 4), min_size=3, max_size=12)  # small, so that there are ties


@given(st.data())
def test_the_coefficients_are_scipys_also_with_ties(data):
    x = data.draw(numbers)
    y = data.draw(st.lists(st.integers(-4, 4), min_size=len(x), max_size=len(x)))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(coefficients(np.array(x, float), np.array(y, float))).all()
        return
    spearman, kendall = coefficients(np.array(x, float), np.array(y, float))
    assert spearman == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-12)
    assert kendall == pytest.approx(scipy.stats.kendalltau(x, y).statistic, abs=1e-6)


def test_permutations_have_the_exact_distribution():
    y = np.array([0.3, 1.1, 0.9, 2.0, 1.7])
    x = np.arange(5.0)
    orders = np.array(list(itertools.permutations(range(5))))
    exact = coefficients(x, y[orders])
    drawn = permuted(x, y, 20_000, np.random.default_rng(0))
    for observed in (0.3, 0.6, 0.9):
        shares = [(np.abs(values) >= observed).mean(axis=0) for values in (exact, drawn)]
        np.testing.assert_allclose(*shares, atol=0.015)  # four standard errors


def test_intervals_cover_the_truth():
    # Bands are drawn from a population with a known Spearman correlation, seeds add noise.
    generator = np.random.default_rng(2)
    covered, truth = 0, 6 / np.pi * np.arcsin(0.8 / 2)  # of a bivariate normal with correlation 0.8
    for _ in range(200):
        x = generator.standard_normal(30)
        y = 0.8 * x + 0.6 * generator.standard_normal(30)
        table = y[:, None] + 0.05 * generator.standard_normal((30, 3))
        low, high = np.quantile(bootstrapped(x, table, 200, generator)[:, 0], [0.025, 0.975])
        covered += low <= truth <= high
    assert covered / 200 > 0.89  # nominal 0.95; percentile intervals of 30 points fall short a bit


def test_rank_correlations_are_scipys():
    x, y = np.random.default_rng(0).integers(0, 6, size=(2, 30)).astype(float)
    assert rank_correlation(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
    assert math.isnan(rank_correlation(np.ones(4), np.arange(4.0)))


def test_reliability_is_that_of_twice_the_data():
    """Halves that correlate at rho: two wholes, each of two halves, correlate as it says.

    Normal scores of 20,000 units with noise of the same size; ranks follow values closely.
    """
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(3_000)
    halves = truth + rng.standard_normal((4, 3_000))
    stepped = reliability(halves[0], halves[1])
    wholes = rank_correlation(halves[0] + halves[1], halves[2] + halves[3])
    assert stepped == pytest.approx(wholes, abs=0.03)
    # Halves that disagree are not made to disagree more.
    assert reliability(np.arange(4.0), -np.arange(4.0)) == -1.0


def test_blocks_of_draws_do_not_change_the_numbers(monkeypatch):
    x, table = np.arange(6.0), np.random.default_rng(0).standard_normal((6, 3))
    whole = [
        permuted(x, table.mean(axis=1), 50, np.random.default_rng(1)),
        bootstrapped(x, table, 50, np.random.default_rng(1)),
    ]
    assert [len(draws) for draws in whole] == [50, 50]
    monkeypatch.setattr("sads.statistics.ranks._BLOCK", 36 * 7)  # seven draws at a time
    again = permuted(x, table.mean(axis=1), 50, np.random.default_rng(1))
    np.testing.assert_array_equal(whole[0], again)
    assert len(bootstrapped(x, table, 50, np.random.default_rng(1))) == 50
