"""Means, pairs and Student's intervals against SciPy, and the level of the intervals."""

import numpy as np
import pytest
import scipy.stats

from sads.errors import InputError
from sads.figures.verdict import above
from sads.statistics.means import (
    mean_and_error,
    mean_interval,
    paired_difference,
    paired_differences,
)


def test_means_and_pairs():
    values = [3.0, 5.0, 10.0]
    assert mean_and_error(values) == pytest.approx((6.0, scipy.stats.sem(values)))
    assert mean_and_error([2.0]) == (2.0, None)
    # A seed that shifts both alike does not blur their difference.
    first, second = {0: 1.0, 1: 11.0, 2: 21.0}, {0: 0.0, 1: 10.0, 2: 20.0, 3: 7.0}
    assert paired_difference(first, second) == (1.0, 0.0)
    with pytest.raises(InputError, match="no seed in common"):
        paired_difference({0: 1.0}, {1: 1.0})


def test_intervals_have_their_level():
    """Student's interval of five normal values covers the mean in 95 % of 2,000 draws, +- 2 %."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(2_000):
        interval = mean_interval(rng.standard_normal(5).tolist())[1]
        covered += interval is not None and above(interval) is None
    assert abs(covered / 2_000 - 0.95) < 0.02


def test_intervals_are_scipys():
    values = [3.0, 5.0, 10.0, 4.5]
    mean, interval = mean_interval(values)
    expected = scipy.stats.t.interval(0.95, 3, loc=np.mean(values), scale=scipy.stats.sem(values))
    assert mean == pytest.approx(np.mean(values))
    assert interval == pytest.approx(expected)
    assert mean_interval([]) == (None, None)


def test_pairs_are_in_the_order_of_their_seeds():
    assert paired_differences({3: 1.0, 1: 5.0, 0: 2.0}, {1: 2.0, 3: 1.5}) == [3.0, -0.5]
    assert paired_differences({0: 1.0}, {1: 1.0}) == []
