"""Who is ahead and how sure that is, against SciPy, simulations and cases by hand."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.stats

from sads.ranking.halving import certain, ordered, probability_before, rungs, survivors


def test_probabilities_are_those_of_a_paired_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(5), rng.standard_normal(5) + 0.5
    by_scipy = scipy.stats.ttest_rel(b, a, alternative="less").pvalue
    ours = probability_before(dict(enumerate(a)), dict(enumerate(b)))
    assert ours == pytest.approx(by_scipy)
    assert probability_before(dict(enumerate(b)), dict(enumerate(a))) == pytest.approx(1 - ours)


def test_what_seeds_share_does_not_blur():
    shared = np.array([0.0, 100.0, -40.0, 7.0])
    first, second = (
        dict(enumerate(shared + np.array([0, 0.1, 0, 0.1]))),
        dict(enumerate(shared + 1)),
    )
    assert probability_before(first, second) > 0.999


def test_one_seed_and_equal_candidates_decide_nothing():
    assert probability_before({0: 1.0}, {0: 9.0}) == 0.5
    assert probability_before({0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0}) == 0.5
    assert probability_before({0: 1.0, 1: 2.0}, {0: 2.0, 1: 3.0}) == 1.0
    assert probability_before({0: 2.0, 1: 3.0}, {0: 1.0, 1: 2.0}) == 0.0


def test_an_order_called_certain_is_seldom_wrong():
    """Candidates with true errors 0, 1, 2 and noise of 0.7: of certain orders at most 5 % wrong."""
    rng = np.random.default_rng(1)
    calls, wrong = 0, 0
    for _ in range(2_000):
        errors = {
            name: dict(enumerate(rank + 0.7 * rng.standard_normal(4)))
            for rank, name in enumerate("abc")
        }
        order = ordered(errors)
        if certain(order, errors, 0.95):
            calls += 1
            wrong += order != ["a", "b", "c"]
    assert calls > 200
    assert wrong / calls <= 0.05


def test_many_candidates_need_more_for_the_same_certainty():
    rng = np.random.default_rng(2)
    errors = {str(k): dict(enumerate(2.0 * k + rng.standard_normal(4))) for k in range(6)}
    order = [str(k) for k in range(6)]
    doubts = [1 - probability_before(errors[a], errors[b]) for a, b in pairwise(order)]
    assert certain(order, errors, 1 - sum(doubts) - 1e-9)
    assert not certain(order, errors, 1 - sum(doubts) + 1e-6)


def test_the_better_half_goes_on_and_looks_double():
    assert survivors(["a", "b", "c", "d", "e"]) == ["a", "b", "c"]
    for steps in (1, 7, 20, 40, 100, 1_000):
        looks = rungs(steps)
        assert looks[-1] == steps
        assert all(b // 2 == a for a, b in pairwise(looks))
        assert len(looks) <= 2 or looks[0] >= 20
