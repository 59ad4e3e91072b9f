"""Shapes over directions: planted ones are named, intervals are Student's, errors are rare."""

import numpy as np
import pytest
from scipy import stats

from sads.statistics.shapes import FLAT, shape_of

ENDS = {
    "rising": [(0.5, -0.5), (0.5, 0.0), (0.0, -0.5)],
    "falling": [(-0.5, 0.5), (-0.5, 0.0), (0.0, 0.5)],
    "U": [(0.5, 0.5)],
    "inverted U": [(-0.5, -0.5)],
    "flat": [(0.0, 0.0), (0.05, -0.05)],  # clearly not zero, and small
}


def planted(first: float, last: float, *, noise: float = 0.01, seeds: int = 5, seed: int = 0):
    """Seven directions around 3, the ends moved by shares; each seed has a level of its own."""
    rng = np.random.default_rng(seed)
    means = 3 * np.array([1 + first, 0.9, 1.1, 1.0, 0.95, 1.05, 1 + last])
    return means[:, None] + rng.normal(size=seeds) + noise * rng.normal(size=(7, seeds))


@pytest.mark.parametrize(("name", "ends"), [(n, e) for n, own in ENDS.items() for e in own])
def test_planted_shapes_are_named(name, ends):
    assert shape_of(planted(*ends)).name == name


def test_noise_or_too_few_seeds_leave_a_shape_open():
    assert shape_of(planted(0.5, -0.5, noise=3.0)).name == "open"
    assert shape_of(planted(0.5, -0.5, seeds=4)).name == "open"
    assert shape_of(planted(0.5, -0.5, seeds=1)).first.interval is None


def test_intervals_are_students_of_paired_contrasts():
    table = planted(0.2, 0.4, noise=0.3)
    middle = table[1:-1].mean(axis=0)
    shape = shape_of(table)
    assert shape.middle == pytest.approx(middle.mean())
    for contrast, row in ((shape.first, table[0]), (shape.last, table[-1])):
        shares = (row - middle) / middle.mean()
        test = stats.ttest_1samp(shares, 0.0)
        assert contrast.value == pytest.approx(shares.mean())
        assert contrast.interval == pytest.approx(tuple(test.confidence_interval(0.95)))


def test_a_shape_is_rarely_named_wrongly():
    """With nothing there an end is off zero in 5 % of cases: 2,000 tables, within 4 errors."""
    wrong = sum(
        shape_of(planted(0.0, 0.0, noise=1.5, seed=seed)).first.stands in ("above", "below")
        for seed in range(2_000)
    )
    assert abs(wrong / 2_000 - 0.05) < 4 * (0.05 * 0.95 / 2_000) ** 0.5


def test_flat_is_bounded_by_a_tenth():
    assert FLAT == 0.1
    assert shape_of(planted(0.12, 0.0)).first.stands == "above"
    assert shape_of(planted(0.08, 0.0)).first.stands == "level"
