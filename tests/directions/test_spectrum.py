"""Spectra and their errors against matrices whose eigenvectors are known."""

import numpy as np
import pytest
from scipy.stats import t as student

from sads.directions import FOLDS, Structure, exact_spectrum, sampled_spectrum
from sads.directions.structure import Channels, Dense
from sads.directions.symmetry import average, sectors
from sads.directions.whitening import halves_error, whitened_distance

from .synthetic import random_basis, wishart_folds


def dense(size: int) -> Structure:
    return Dense((size,))


def planted(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Descending eigenvalues with gaps of all sizes, ties among them, and a random basis."""
    values = np.exp(-rng.uniform(0, 5, size))
    values[: size // 6] = values[size // 6 : 2 * (size // 6)] * 1.0001  # near ties
    return np.sort(values)[::-1], random_basis(size, rng)


@pytest.fixture(scope="module")
def repeats() -> list[tuple]:
    rng = np.random.default_rng(11)
    results = []
    for _ in range(60):
        values, basis = planted(rng, 30)
        folds, counts = wishart_folds(basis * values @ basis.T, 4000, rng)
        results.append((values, basis, sampled_spectrum(folds, counts, dense(30))))
    return results


def test_standard_errors_cover_at_their_nominal_rate(repeats):
    """Intervals at 68 % and 95 % by Student's t; within three points of nominal (1,800 values)."""
    z = np.concatenate([(s.eigenvalues - v) / s.eigenvalue_errors for v, _, s in repeats])
    for level in (0.68, 0.95):
        inside = np.mean(np.abs(z) < student.ppf((1 + level) / 2, FOLDS - 1))
        assert inside == pytest.approx(level, abs=0.03)


def test_eigenvalues_at_the_ends_are_not_biased():
    """The raw estimate is: with 720 samples in 40 dimensions by 10 % and more."""
    rng = np.random.default_rng(12)
    values = np.linspace(2, 1, 40)
    corrected, raw = [], []
    for _ in range(60):
        basis = random_basis(40, rng)
        folds, counts = wishart_folds(basis * values @ basis.T, 60, rng)
        corrected.append(sampled_spectrum(folds, counts, dense(40)).eigenvalues)
        raw.append(np.linalg.eigvalsh(folds.mean(0))[::-1])
    bias = np.abs(np.mean(corrected, 0) / values - 1)[[0, -1]]
    naive = np.abs(np.mean(raw, 0) / values - 1)[[0, -1]]
    assert np.all(naive > 0.1)
    assert np.all(bias < 0.5 * naive)


def test_eigenvalues_descend_and_bands_cover_all(repeats):
    for _, _, spectrum in repeats:
        assert np.all(np.diff(spectrum.eigenvalues) <= 0)
        assert [b.first for b in spectrum.bands][1:] == [b.last + 1 for b in spectrum.bands[:-1]]
        assert (spectrum.bands[0].first, spectrum.bands[-1].last) == (0, 29)
        identity = spectrum.eigenvectors.T @ spectrum.eigenvectors
        np.testing.assert_allclose(identity, np.eye(30), atol=1e-10)


def test_sads_are_the_same_in_ascending_order(repeats):
    spectrum = repeats[0][2]
    np.testing.assert_array_equal(spectrum.sads.eigenvalues, spectrum.eigenvalues[::-1])
    np.testing.assert_array_equal(spectrum.sads.directions[:, 0], spectrum.vector(29))
    with pytest.raises(IndexError):
        spectrum.vector(30)


def test_null_space_is_recognised():
    rng = np.random.default_rng(14)
    basis = random_basis(10, rng)
    values = np.array([4.0, 3.0, 2.0, 1.0] + [0.0] * 6)
    folds, counts = wishart_folds(basis * values @ basis.T, 2000, rng)
    for spectrum in (
        sampled_spectrum(folds, counts, dense(10)),
        exact_spectrum(basis * values @ basis.T, dense(10)),
    ):
        last = spectrum.bands[-1]
        assert (last.first, last.last, last.null, last.certified) == (4, 9, True, True)
        assert np.all(spectrum.eigenvalues[4:] == 0)
        assert not any(band.null for band in spectrum.bands[:-1])


def test_sectors_keep_close_eigenvalues_apart():
    """Two eigenvectors of equal eigenvalue, one even and one odd, are told apart by symmetry."""
    structure = Channels((1, 4))
    even, odd = np.array([1.0, 0, 0, 1]) / np.sqrt(2), np.array([0, 1.0, -1, 0]) / np.sqrt(2)
    true = np.outer(even, even) + np.outer(odd, odd) + 0.1 * np.eye(4)
    rng = np.random.default_rng(15)
    folds, counts = wishart_folds(true, 2000, rng)
    plain = sampled_spectrum(folds, counts, structure)
    split = sampled_spectrum(folds, counts, structure, ("flip",))
    assert plain.resolution[0].window >= 1
    assert [level.window for level in split.resolution[:2]] == [0, 0]
    # Their order is not decided, and said so: they share a band and the interval of the index.
    assert [(level.index_low, level.index_high) for level in split.resolution[:2]] == [(0, 1)] * 2
    assert split.bands[0].width == plain.bands[0].width == 2
    magnitudes = np.abs(split.eigenvectors[:, :2].T @ np.stack([even, odd], axis=1))
    np.testing.assert_allclose(np.sort(magnitudes, axis=1), [[0, 1], [0, 1]], atol=0.02)


def test_pairs_of_the_square_are_exactly_degenerate():
    structure = Channels((1, 4, 4))
    rng = np.random.default_rng(16)
    basis = random_basis(16, rng)
    names = ("flip", "transpose")
    true = average(basis * np.geomspace(9, 0.1, 16) @ basis.T, structure, names)
    folds, counts = wishart_folds(true, 5000, rng)
    spectrum = sampled_spectrum(folds, counts, structure, names)
    exact = exact_spectrum(true, structure, names)
    _, counted = np.unique(spectrum.eigenvalues, return_counts=True)
    assert sorted(counted) == [1] * 8 + [2] * 4
    np.testing.assert_allclose(spectrum.eigenvalues, exact.eigenvalues, rtol=0.08)
    assert sum(band.width for band in exact.bands if band.width == 2) == 8
    np.testing.assert_allclose(
        exact.eigenvectors * exact.eigenvalues @ exact.eigenvectors.T, true, atol=1e-12
    )


def test_structure_multiplies_bands():
    rng = np.random.default_rng(17)
    folds, counts = wishart_folds(np.diag([4.0, 2.0, 1.0]), 3000, rng)
    spectrum = sampled_spectrum(folds, counts, Channels((2, 3)))
    assert [(b.first, b.last) for b in spectrum.bands] == [(0, 1), (2, 3), (4, 5)]
    assert spectrum.eigenvalues.shape == (6,)
    assert spectrum.band_of(3).first == 2


def test_whitened_error_of_a_sample_moment():
    """E|W - I|_F^2 = (D^2 + D)/n for a whitened Wishart, so the error is sqrt((D + 1)/n)."""
    rng = np.random.default_rng(18)
    basis = random_basis(20, rng)
    true = basis * np.geomspace(100, 0.01, 20) @ basis.T
    errors, distances = [], []
    for _ in range(10):
        folds, _ = wishart_folds(true, 500, rng)
        a, b = folds[::2].mean(0), folds[1::2].mean(0)
        errors.append(halves_error(a, b, sectors(dense(20), ())))
        distances.append(whitened_distance((a + b) / 2, true, true))
    expected = np.sqrt(21 / (500 * FOLDS))
    assert np.mean(errors) == pytest.approx(expected, rel=0.05)
    assert np.mean(distances) == pytest.approx(expected, rel=0.05)
