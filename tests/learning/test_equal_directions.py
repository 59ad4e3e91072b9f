"""The test that directions differ: its level, and its power where networks differ as a whole."""

import numpy as np
import pytest

from sads.learning.equal_directions import equality


def _rejected(networks: int, slope: float, common: float) -> float:
    """The share of 300 draws of 15 directions that are told apart at 0.01.

    Networks differ as a whole by `common`, and the first direction is ten times as noisy.
    """
    generator = np.random.default_rng(networks)
    noise = np.ones(15)
    noise[0] = 10
    values = []
    for _ in range(300):
        rows = 10 + noise * generator.standard_normal((networks, 15))
        rows += common * generator.standard_normal((networks, 1)) + np.linspace(-slope, slope, 15)
        values.append(equality(rows))
    return float(np.mean(np.array(values) < 0.01))


@pytest.mark.parametrize("common", [0.0, 3.0])
@pytest.mark.parametrize("networks", [8, 32])
def test_equal_directions_are_told_apart_as_rarely_as_the_level_says(networks, common):
    # At 0.01 nine or more of 300 have the probability 0.004.
    assert _rejected(networks, 0.0, common) < 0.03


@pytest.mark.parametrize("common", [0.0, 3.0])
def test_networks_that_differ_as_a_whole_do_not_hide_an_order(common):
    """Errors of single directions, each network's speed among them, found it in 1 % of 300."""
    assert _rejected(16, 1.0, common) > 0.9


def test_no_variance_at_all_is_no_error():
    assert equality(np.ones((8, 3))) == 1.0
    assert equality(np.tile([1.0, 2.0, 3.0], (8, 1))) < 0.01
