"""Rank-one and sphere data: exact second moments, exact radius, fresh held-out samples."""

import math

import numpy as np
import pytest

from sads.data import band_direction, basis, index_direction, rank_one, sphere, split_stream
from sads.directions import exact_spectrum
from sads.directions.structure import Dense
from sads.errors import InputError


@pytest.fixture
def spectrum():
    """Bands {0, 1}, {2, 3, 4}, {5}, with eigenvectors that are not the axes."""
    turn = basis("dct", (6,))
    values = np.array([4.0, 4.0, 2.0, 2.0, 2.0, 1.0])
    return exact_spectrum(turn * values @ turn.T, Dense((6,)))


def test_rank_one_second_moment_is_d_v_v():
    v = basis("dct", (12,))[:, 5]
    x = rank_one(v, 200_000, np.random.default_rng(0)).astype(float)
    assert abs(x.mean(axis=0)).max() < 0.03
    np.testing.assert_allclose(x.T @ x / len(x), 12 * np.outer(v, v), atol=0.05)


def test_rank_one_coordinate_is_gaussian():
    v = basis("haar", (16,))[:, 3]
    g = np.sort(rank_one(v, 50_000, np.random.default_rng(1)) @ v / 4)
    assert abs(np.mean(g**4) - 3) < 0.15
    assert abs(np.mean(np.abs(g) < 1) - math.erf(math.sqrt(0.5))) < 0.01


def test_rank_one_samples_are_exactly_on_the_line():
    v = basis("dst", (9,))[:, 2]
    x = rank_one(v, 100, np.random.default_rng(0))
    assert x.dtype == np.float32
    np.testing.assert_allclose(np.outer(x @ v, v), x, atol=1e-5)


def test_sphere_radius_is_exact_and_the_distribution_uniform():
    v = basis("dct", (20,))[:, [1, 4, 7]]
    x = sphere(v, 100_000, np.random.default_rng(0))
    assert x.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), math.sqrt(20), rtol=1e-6)
    z = x @ v / math.sqrt(20)
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(3) / 3, atol=0.005)
    # Archimedes: each coordinate of a uniform point on the 2-sphere is uniform.
    np.testing.assert_allclose(
        np.quantile(z, [0.25, 0.5, 0.75], axis=0).T, [[-0.5, 0, 0.5]] * 3, atol=0.02
    )


def test_directions_are_checked():
    with pytest.raises(InputError, match="length 1, got 2"):
        rank_one(np.array([2.0, 0.0]), 5, np.random.default_rng(0))
    with pytest.raises(InputError, match="orthonormal"):
        sphere(np.eye(4)[:, [0, 1, 1]], 5, np.random.default_rng(0))


def test_streams_of_a_seed_differ_and_repeat():
    draws = [split_stream(3, name).standard_normal(4) for name in ("train", "held-out")]
    assert not np.isclose(draws[0], draws[1]).any()
    assert np.array_equal(draws[0], split_stream(3, "train").standard_normal(4))
    assert not np.array_equal(draws[0], split_stream(4, "train").standard_normal(4))


def test_a_band_draw_is_a_unit_vector_of_the_band(spectrum):
    inside = spectrum.eigenvectors[:, 2:5]
    v = band_direction(spectrum, 1, seed=0)
    assert np.linalg.norm(v) == pytest.approx(1)
    assert np.linalg.norm(inside.T @ v) == pytest.approx(1)
    assert np.array_equal(v, band_direction(spectrum, 1, seed=0))
    assert abs(v @ band_direction(spectrum, 1, seed=1)) < 0.999


def test_band_draws_are_uniform(spectrum):
    draws = np.array([band_direction(spectrum, 1, seed) for seed in range(2000)])
    inside = draws @ spectrum.eigenvectors[:, 2:5]
    np.testing.assert_allclose(inside.T @ inside / 2000, np.eye(3) / 3, atol=0.04)
    assert abs(inside.mean(axis=0)).max() < 0.05


def test_indices_and_bands_outside_the_geometry(spectrum):
    assert np.array_equal(index_direction(spectrum, 5), spectrum.eigenvectors[:, 5])
    for index in (-1, 6):
        with pytest.raises(InputError, match="choose 0 to 5"):
            index_direction(spectrum, index)
    for band in (-1, 3):
        with pytest.raises(InputError, match="bands 0 to 2"):
            band_direction(spectrum, band, seed=0)
