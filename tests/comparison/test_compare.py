"""Comparisons of geometries whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sads.comparison.whitened_difference
from sads import InputError, compare
from sads.geometry import Geometry
from sads.geometry.precision import Precision
from sads.inspection.readout import Convolution, DenseLayer, Sampled, TokenWise
from sads.presentation.comparison import comparison_sentences

from .synthetic import exact, plan_of, sampled, spread_factor

SIZE = 16
VALUES = np.geomspace(100, 1, SIZE)


def basis(seed: int = 5) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((SIZE, SIZE)))[0]


def factor(values: np.ndarray = VALUES, vectors: np.ndarray | None = None) -> np.ndarray:
    vectors = basis() if vectors is None else vectors
    return vectors * values @ vectors.T


def rejections(repetitions: int, first, second, seed: int = 0) -> np.ndarray:
    """Shares of p-values of any, shape, scale and the smallest of the bands at most 0.01."""
    rng = np.random.default_rng(seed)
    comparisons = [compare(first(rng), second(rng)) for _ in range(repetitions)]
    smallest = [min(min(b.ratio_p_value, b.rotation_p_value) for b in c.bands) for c in comparisons]
    p_values = [[c.p_value, c.shape_p_value, c.scale_p_value] for c in comparisons]
    return (np.column_stack([p_values, smallest]) <= 0.01).mean(axis=0)


def few(rng: np.random.Generator) -> Geometry:
    return sampled(factor(), 30, rng)


def many(rng: np.random.Generator) -> Geometry:
    return sampled(factor(), 120, rng)


def test_equal_geometries_are_seldom_told_apart():
    # Each rate is at most 0.01: more than 4 of 60 happen with probability below 4e-4.
    assert (rejections(60, few, many) <= 4 / 60).all()


def test_whitening_by_the_plain_mean_would_tell_equal_geometries_apart(monkeypatch):
    monkeypatch.setattr(sads.comparison.whitened_difference, "_share", lambda a, b: 0.5)
    fewest = rejections(40, lambda rng: sampled(factor(), 8, rng), lambda rng: exact(factor()))
    assert fewest[0] > 0.15


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(30, 30), (30, 120), (15, 400), (30, 0)])
def test_p_values_are_calibrated(counts):
    """Rates at 0.01 over 500 repetitions: 0.028 is four standard errors above 0.01."""
    first, second = (
        (lambda rng, n=n: sampled(factor(), n, rng) if n else exact(factor())) for n in counts
    )
    rates = rejections(500, first, second, seed=11)
    assert (rates <= 0.028).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_changed_eigenvalue_is_found_in_its_band_alone(seed):
    rng = np.random.default_rng(seed)
    changed = VALUES * np.where(np.arange(SIZE) == 6, 1.15, 1.0)
    comparison = compare(sampled(factor(), 2000, rng), sampled(factor(changed), 1000, rng))
    assert comparison.different
    (band,) = [band for band in comparison.bands if band.different]
    assert band.first <= 6 <= band.last
    width = band.last - band.first + 1
    assert band.ratio == pytest.approx(1 + 0.15 / width, abs=5 * band.ratio_error)
    assert band.ratio_error < 0.04
    assert band.rotation_p_value > 0.001


@pytest.mark.parametrize("seed", range(5))
def test_a_rotation_is_found_in_the_bands_that_it_mixes(seed):
    rng = np.random.default_rng(seed)
    angle = 0.1
    turned = basis().copy()
    turned[:, 2] = np.cos(angle) * basis()[:, 2] + np.sin(angle) * basis()[:, 9]
    turned[:, 9] = np.cos(angle) * basis()[:, 9] - np.sin(angle) * basis()[:, 2]
    comparison = compare(
        sampled(factor(), 2000, rng), sampled(factor(vectors=turned), 2000, rng), ignore_scale=True
    )
    assert comparison.different
    bands = [band for band in comparison.bands if band.rotation_p_value <= 0.01]
    assert len(bands) == 2
    assert all(b.first <= i <= b.last for b, i in zip(bands, (2, 9), strict=True))


def test_the_distance_is_that_of_the_truths():
    rng = np.random.default_rng(3)
    other = factor(VALUES * np.exp(0.2 * rng.standard_normal(SIZE)), basis(8))
    mean = np.linalg.inv(np.linalg.cholesky((factor() + other) / 2))
    truth = np.linalg.norm(mean @ (other - factor()) @ mean.T) / np.sqrt(SIZE)
    assert compare(exact(factor()), exact(other)).distance == pytest.approx(truth)
    comparison = compare(sampled(factor(), 2000, rng), sampled(other, 2000, rng))
    assert comparison.distance == pytest.approx(truth, abs=4 * comparison.distance_error)
    assert comparison.distance_error < 0.05 * truth
    small = factor(VALUES * (1 + 0.05 * np.sign(np.sin(np.arange(SIZE)))))
    pairs = [(sampled(factor(), 400, rng), sampled(small, 400, rng)) for _ in range(30)]
    squares = [compare(a, b).distance ** 2 for a, b in pairs]
    # About 0.05 squared, where errors of 0.06 in each would add 0.007 to a plain distance.
    assert np.mean(squares) == pytest.approx(0.05**2, abs=0.0012)


@given(st.floats(0.2, 5.0), st.integers(0, 5))
def test_a_factor_is_scale_and_no_shape(c, seed):
    truth = spread_factor(6, np.random.default_rng(seed))
    comparison = compare(exact(truth), exact(c * truth))
    assert comparison.scale == pytest.approx(c)
    assert comparison.shape_distance < 1e-6
    assert comparison.shape_p_value == 1
    assert comparison.different == (abs(c - 1) > 1e-8)
    assert not compare(exact(truth), exact(c * truth), ignore_scale=True).different
    assert all(band.ratio == pytest.approx(c) for band in comparison.bands)


def test_a_sampled_factor_is_scale_and_no_shape():
    rng = np.random.default_rng(4)
    a, b = sampled(factor(), 400, rng), sampled(1.5 * factor(), 400, rng)
    comparison = compare(a, b)
    assert comparison.different
    assert comparison.scale == pytest.approx(1.5, abs=4 * comparison.scale_error)
    assert comparison.scale_p_value < 0.002
    assert comparison.shape_p_value > 0.01
    assert "common factor" in comparison_sentences(comparison)[0]
    assert not compare(a, b, ignore_scale=True).different


def test_swapping_the_two_inverts_the_ratios():
    rng = np.random.default_rng(6)
    a, b = sampled(factor(), 200, rng), sampled(factor(VALUES**1.1), 50, rng)
    there, back = compare(a, b), compare(b, a)
    assert there.p_value == back.p_value
    assert there.distance == pytest.approx(back.distance)
    assert there.scale == pytest.approx(1 / back.scale)
    for x, y in zip(there.bands, back.bands, strict=True):
        assert x.ratio is not None
        assert y.ratio is not None
        assert x.ratio * y.ratio == pytest.approx(1)


def test_a_geometry_is_equal_to_itself_and_to_its_closed_form():
    rng = np.random.default_rng(7)
    a = sampled(factor(), 100, rng)
    same = compare(a, a)
    assert (same.p_value, same.distance, same.different) == (1, 0, False)
    assert any("seed 0" in note for note in same.notes)
    assert not compare(a, exact(factor())).different
    assert compare(sampled(factor(), 500, rng), exact(factor(VALUES**1.1))).different
    rounded = exact(factor() * (1 + 1e-13 * rng.standard_normal()))
    assert not compare(exact(factor()), rounded).different


def test_a_repetition_on_another_machine_differs_by_rounding_only():
    rng = np.random.default_rng(8)
    precision = Precision("float32", 1e-5, 1e-3, 4)
    a = sampled(factor(), 50, rng, precision=precision)
    b = Geometry(a.plan, replace(a.state, sums=a.state.sums * (1 + 1e-6)))
    comparison = compare(a, b)
    assert comparison.p_value < 0.01
    assert not comparison.different
    assert any("rounding" in note for note in comparison.notes)
    c = Geometry(a.plan, replace(a.state, sums=a.state.sums * (1 + 1e-3)))
    assert compare(a, c).different  # errors that they share cancel


def test_directions_that_only_one_can_produce():
    flat = VALUES * (np.arange(SIZE) < 10)
    rng = np.random.default_rng(9)
    for b in (exact(factor()), sampled(factor(), 100, rng)):
        comparison = compare(exact(factor(flat)), b)
        assert comparison.different
        assert comparison.bands[-1].different
        assert comparison.bands[-1].last == SIZE - 1
        assert comparison.bands[-1].ratio is None or comparison.bands[-1].ratio > 10
        assert comparison_sentences(comparison)
    both = compare(exact(factor(flat)), exact(factor(2 * flat)))
    assert both.bands[-1].last == 9
    assert both.scale == pytest.approx(2)


def test_structures_are_compared_at_their_finest_common_level():
    rng = np.random.default_rng(10)
    shape = (2, 4, 4)
    channels = Convolution(shape, kernel=(1, 1))
    tokens = TokenWise(shape, patch=2)
    isotropic = DenseLayer(shape)
    small = spread_factor(16, rng)
    a = sampled(small, 100, rng, readout=channels, shape=shape)
    one = exact(np.eye(1), readout=isotropic, shape=shape)
    many = sampled(np.eye(16), 100, rng, readout=channels, shape=shape)
    assert not compare(one, many).different
    assert compare(one, a).different
    assert compare(a, one).bands[-1].last == 31
    patches = exact(spread_factor(4, rng), readout=tokens, shape=shape)
    dense = exact(patches.matrix(), readout=Sampled(shape), shape=shape)
    assert not compare(patches, dense).different
    comparison = compare(patches, a)
    assert comparison.different
    expected = compare(dense, exact(a.matrix(), readout=dense.plan.readout, shape=shape)).distance
    assert comparison.distance == pytest.approx(expected, rel=0.2)


def test_unequal_folds_count_by_their_networks():
    # Folds of 2 to 200 networks: counted alike, the smallest would make most of the noise.
    counts = np.geomspace(2, 200, 12).astype(int)
    changed = factor(VALUES * (1 + 0.5 * (np.arange(SIZE) < 8)))
    rng = np.random.default_rng(12)
    assert compare(sampled(factor(), counts, rng), sampled(changed, counts, rng)).different
    equal = rejections(40, *[lambda rng: sampled(factor(), counts, rng)] * 2)
    assert (equal <= 4 / 40).all()


def test_what_else_differs_is_said():
    rng = np.random.default_rng(13)
    a = sampled(factor(), 50, rng, seed=1)
    b = sampled(factor(), 50, rng, seed=2, probe="gaussian:1", timesteps=(0, 10))
    notes = " ".join(compare(a, b).notes)
    assert "probe zero against gaussian:1" in notes
    assert "timesteps (0, 1000) against (0, 10)" in notes
    assert "seed" not in notes
    assert "not finished" in notes
    assert "other parameters" in compare(a, sampled(factor(), 9, rng, fingerprint="1")).notes[0]


def test_bad_input():
    rng = np.random.default_rng(14)
    a = sampled(factor(), 50, rng)
    with pytest.raises(InputError, match="expected 1x1x16 as in the first, got 1x4x4"):
        compare(a, sampled(factor(), 50, rng, readout=Sampled((1, 4, 4))))
    with pytest.raises(InputError, match=r"12 networks.*expected at least 16"):
        compare(a, sampled(factor(), 1, rng))
    with pytest.raises(InputError, match="zero"):
        compare(a, exact(0 * factor()))
    for level in (0, 1, 0.0001):
        with pytest.raises(InputError, match="level"):
            compare(a, a, level=level)
    large = (2, 64, 64)
    plans = [
        plan_of(kind(large, patch=2), estimator="closed form", shape=large)
        for kind in (Sampled, TokenWise)
    ]
    with pytest.raises(InputError, match=r"at most 4096 dimensions, got 8192"):
        compare(*(replace(exact(np.eye(2)), plan=plan) for plan in plans))


def test_blocks_of_rows_change_nothing(monkeypatch):
    first, second = (sampled(factor(), 30, np.random.default_rng(seed)) for seed in (1, 2))
    whole = compare(first, second)
    monkeypatch.setattr(sads.comparison.whitened_difference, "BLOCK_BYTES", 1)
    monkeypatch.setattr(sads.comparison.whitened_difference, "LEAST_ROWS", 5)
    blocks = compare(first, second)
    assert blocks.p_value == whole.p_value
    assert blocks.distance == pytest.approx(whole.distance, rel=1e-9)
    for one, other in zip(blocks.bands, whole.bands, strict=True):
        assert one.ratio_p_value == other.ratio_p_value
        assert one.rotation_p_value == other.rotation_p_value
