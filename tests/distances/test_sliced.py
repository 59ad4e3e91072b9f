"""The sliced distance: against POT, against closed forms, and its invariances."""

import math

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sads.distances import sliced, sliced_wasserstein

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 30)
DIMENSIONS = st.integers(1, 6)
properties = settings(deadline=None, max_examples=50, derandomize=True)


def pair(seed: int, n: int, m: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.standard_normal((n, size)), 2 * generator.standard_normal((m, size)) + 0.5


def unit(seed: int, count: int, size: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, size))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m"), [(400, 400), (400, 300), (123, 400)])
def test_agrees_with_pot_on_the_same_directions(n: int, m: int, dtype: type) -> None:
    x, y = (sample.astype(dtype) for sample in pair(0, n, m, 20))
    directions = unit(1, 200, 20)
    ours = sliced_wasserstein(x, y, directions=directions)
    theirs, log = ot.sliced_wasserstein_distance(
        x.astype(np.float64), y.astype(np.float64), projections=directions.T.copy(), log=True
    )
    assert ours.sw2 == pytest.approx(float(theirs), rel=1e-5)
    np.testing.assert_allclose(ours.values**2, log["projected_emds"], rtol=1e-5)
    assert ours.msw2 == ours.values.max()
    assert ours.projections == len(ours.values) == 200


def test_a_shift_has_a_closed_form() -> None:
    """W2(v) = |v . d| for y = x + d, so SW2 = |d| / sqrt(D) up to the spread of the directions.

    At four standard errors the test fails by chance for one seed in 16,000.
    """
    x, shift = pair(2, 50, 1, 12)
    result = sliced_wasserstein(x, x + shift, projections=4000, generator=3)
    expected = np.linalg.norm(shift) / math.sqrt(12)
    assert abs(result.sw2 - expected) < 4 * result.standard_error
    assert result.standard_error < 0.02 * expected


def test_all_axes_of_a_shift_exactly() -> None:
    x, shift = pair(2, 50, 1, 12)
    result = sliced_wasserstein(x, x + shift, directions=3 * np.eye(12))
    np.testing.assert_allclose(result.values, np.abs(shift[0]), rtol=1e-12)


@pytest.mark.parametrize(("orthogonal", "projections"), [(False, 64), (True, 64), (True, 60)])
def test_the_standard_error_is_the_spread_over_seeds(orthogonal: bool, projections: int) -> None:
    """Over 400 seeds the spread has a relative error of about 4 %, the mean error estimate of
    a few per cent more with only 8 orthogonal sets: within 20 % is more than three of them.
    """
    x, y = pair(4, 60, 60, 8)
    y[:, 0] += 2
    results = [
        sliced_wasserstein(
            x, y, projections=projections, orthogonal=orthogonal, generator=seed, threads=1
        )
        for seed in range(400)
    ]
    spread = np.std([result.sw2 for result in results], ddof=1)
    stated = math.sqrt(np.mean([result.standard_error**2 for result in results]))
    assert stated == pytest.approx(spread, rel=0.2)


def test_orthogonal_sets_measure_all_of_a_shift() -> None:
    """Any orthonormal basis splits |d|^2 exactly: complete sets leave no error at all."""
    x, shift = pair(5, 20, 1, 10)
    result = sliced_wasserstein(x, x + shift, projections=30, orthogonal=True, generator=6)
    assert result.sw2 == pytest.approx(np.linalg.norm(shift) / math.sqrt(10), rel=1e-12)
    assert result.standard_error == pytest.approx(0, abs=1e-12)
    assert result.values.std() > 0.1


@pytest.mark.parametrize("position", [0, 2])
def test_orthogonal_directions_are_uniform(position: int) -> None:
    """E (v . d)^2 = |d|^2 / D at each place of a set; 4 sigma fails for one seed in 16,000."""
    shift = np.array([[1.0, 1.0, 0.0]])
    result = sliced_wasserstein(
        np.zeros((1, 3)), shift, projections=3000, orthogonal=True, generator=7
    )
    squares = result.values[position::3] ** 2
    assert abs(squares.mean() - 2 / 3) < 4 * squares.std() / math.sqrt(len(squares))
    assert squares.std() > 0.3


def test_defaults_and_seeds() -> None:
    x, y = pair(8, 20, 30, 3)
    result = sliced_wasserstein(x, y)
    assert result.projections == 192
    again = sliced_wasserstein(x, y, generator=0)
    other = sliced_wasserstein(x, y, generator=1)
    np.testing.assert_array_equal(result.values, again.values)
    assert not np.isclose(result.values, other.values).any()


def test_one_direction_has_no_standard_error() -> None:
    x, y = pair(9, 20, 20, 4)
    assert math.isnan(sliced_wasserstein(x, y, projections=1).standard_error)
    one_set = sliced_wasserstein(x, y, projections=4, orthogonal=True)
    assert math.isnan(one_set.standard_error)


def test_equal_samples_have_distance_and_error_zero() -> None:
    x, _ = pair(10, 25, 1, 5)
    result = sliced_wasserstein(x, x[::-1], projections=50)
    assert (result.sw2, result.msw2, result.standard_error) == (0, 0, 0)


@given(seed=SEEDS, n=SIZES, m=SIZES, size=DIMENSIONS)
@properties
def test_symmetric(seed: int, n: int, m: int, size: int) -> None:
    x, y = pair(seed, n, m, size)
    there, back = sliced_wasserstein(x, y), sliced_wasserstein(y, x)
    np.testing.assert_allclose(there.values, back.values, rtol=1e-12)


@given(seed=SEEDS, n=SIZES, shift=st.floats(-1e3, 1e3))
@properties
def test_a_translation_on_the_line_is_its_own_distance(seed: int, n: int, shift: float) -> None:
    x, _ = pair(seed, n, 1, 1)
    assert sliced_wasserstein(x, x + shift).sw2 == pytest.approx(abs(shift), abs=1e-9)


@given(seed=SEEDS, n=SIZES, m=SIZES, size=DIMENSIONS)
@properties
def test_rotating_samples_and_directions_changes_nothing(
    seed: int, n: int, m: int, size: int
) -> None:
    x, y = pair(seed, n, m, size)
    directions = unit(seed, 10, size)
    rotation = np.linalg.qr(np.random.default_rng(seed + 1).standard_normal((size, size)))[0]
    plain = sliced_wasserstein(x, y, directions=directions)
    turned = sliced_wasserstein(x @ rotation, y @ rotation, directions=directions @ rotation)
    np.testing.assert_allclose(turned.values, plain.values, rtol=1e-9, atol=1e-12)


@given(seed=SEEDS, n=SIZES, m=SIZES, scale=st.floats(-1e6, 1e6).filter(lambda s: abs(s) > 1e-6))
@properties
def test_scales_with_the_samples(seed: int, n: int, m: int, scale: float) -> None:
    x, y = pair(seed, n, m, 3)
    plain = sliced_wasserstein(x, y, projections=20)
    scaled = sliced_wasserstein(scale * x, scale * y, projections=20)
    assert scaled.sw2 == pytest.approx(abs(scale) * plain.sw2, rel=1e-9)
    assert scaled.standard_error == pytest.approx(abs(scale) * plain.standard_error, rel=1e-6)


@given(seed=SEEDS, n=st.integers(2, 30), size=DIMENSIONS)
@properties
def test_zero_between_a_sample_and_its_copies_only(seed: int, n: int, size: int) -> None:
    x, y = pair(seed, n, n, size)
    shuffled = np.random.default_rng(seed).permutation(np.concatenate([x, x]))
    assert sliced_wasserstein(x, shuffled, projections=20).sw2 < 1e-12
    assert sliced_wasserstein(x, y, projections=20).sw2 > 1e-6


@given(seed=SEEDS, chunk=st.integers(1, 70), orthogonal=st.booleans(), wide=st.booleans())
@properties
def test_the_chunk_does_not_matter(seed: int, chunk: int, orthogonal: bool, wide: bool) -> None:
    x, y = (sample.astype(np.float64 if wide else np.float32) for sample in pair(seed, 40, 30, 6))
    options = {"projections": 64, "orthogonal": orthogonal, "generator": seed}
    whole = sliced_wasserstein(x, y, **options, chunk=64)
    parts = sliced_wasserstein(x, y, **options, chunk=chunk)
    np.testing.assert_allclose(parts.values, whole.values, rtol=1e-10 if wide else 1e-4)


@given(seed=SEEDS, threads=st.integers(2, 5), m=st.sampled_from([40, 30]))
@properties
def test_the_number_of_threads_does_not_matter_to_the_bit(seed: int, threads: int, m: int) -> None:
    x, y = (sample.astype(np.float32) for sample in pair(seed, 40, m, 6))
    one = sliced_wasserstein(x, y, projections=50, chunk=7, threads=1)
    many = sliced_wasserstein(x, y, projections=50, chunk=7, threads=threads)
    np.testing.assert_array_equal(one.values, many.values)
    assert one.sw2 == many.sw2


def test_float32_accumulates_in_float64() -> None:
    """100,000 equal terms: a float32 sum drifts by far more than the rounding of one term."""
    x = np.zeros((100_000, 1), dtype=np.float32)
    result = sliced_wasserstein(x, x + np.float32(0.1), projections=2)
    assert result.sw2 == pytest.approx(float(np.float32(0.1)), rel=1e-7)


def test_mixed_and_half_precision_are_widened() -> None:
    x, y = pair(11, 50, 60, 4)
    exact = sliced_wasserstein(x, y).sw2
    assert sliced_wasserstein(x.astype(np.float32), y).sw2 == pytest.approx(exact, rel=1e-6)
    half = sliced_wasserstein(x.astype(np.float16), y.astype(np.float16)).sw2
    assert half == pytest.approx(exact, rel=1e-3)


def test_a_limit_on_threads_is_kept(monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert sliced._cores() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert sliced._cores() >= 1
