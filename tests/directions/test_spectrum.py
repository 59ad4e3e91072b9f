"""Spectra, errors, bands and certificates against matrices whose eigenvectors are known."""

import numpy as np
import pytest
from scipy.stats import binomtest
from scipy.stats import t as student

from sads.directions import FOLDS, Structure, exact_spectrum, sampled_spectrum
from sads.directions.bands import Levels, block_overlaps
from sads.directions.folds import CERTIFYING_HALVES, GROUPING, GROUPING_HALVES
from sads.directions.symmetry import average, sectors
from sads.directions.whitening import halves_error, whitened_distance

from .synthetic import random_basis, wishart_folds


def dense(size: int) -> Structure:
    return Structure("dense", (size,))


def planted(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Descending eigenvalues with gaps of all sizes, ties among them, and a random basis."""
    values = np.exp(-rng.uniform(0, 5, size))
    values[: size // 6] = values[size // 6 : 2 * (size // 6)] * 1.0001  # near ties
    return np.sort(values)[::-1], random_basis(size, rng)


@pytest.fixture(scope="module")
def repeats() -> list[tuple]:
    rng = np.random.default_rng(11)
    found = []
    for _ in range(60):
        values, basis = planted(rng, 30)
        folds, counts = wishart_folds(basis * values @ basis.T, 4000, rng)
        found.append((values, basis, sampled_spectrum(folds, counts, dense(30))))
    return found


def test_certified_bands_hold_what_they_state(repeats):
    """One-sided 99 % binomial tests that 95 % of the certified bands are truly as good."""
    good, as_stated, certified = 0, 0, 0
    for _, basis, spectrum in repeats:
        for band in spectrum.bands:
            if band.certified and band.width < 30:
                part = slice(band.first, band.last + 1)
                overlap = np.sum((basis[:, part].T @ spectrum.eigenvectors[:, part]) ** 2)
                certified += 1
                good += overlap / band.width >= 0.95
                as_stated += overlap / band.width >= band.overlap
    assert certified > 500
    assert binomtest(good, certified, 0.95, alternative="less").pvalue > 0.01
    assert binomtest(as_stated, certified, 0.95, alternative="less").pvalue > 0.01


def test_most_directions_are_certified_in_narrow_bands(repeats):
    assert np.mean([spectrum.certified_share() for _, _, spectrum in repeats]) > 0.85
    assert np.mean([spectrum.certified_share(2) for _, _, spectrum in repeats]) > 0.5


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


def test_degenerate_eigenvalues_become_one_certified_band():
    rng = np.random.default_rng(13)
    basis = random_basis(12, rng)
    values = np.array([9.0] + [4.0] * 5 + [1.0] * 6)
    folds, counts = wishart_folds(basis * values @ basis.T, 3000, rng)
    spectrum = sampled_spectrum(folds, counts, dense(12))
    assert [(b.first, b.last, b.certified) for b in spectrum.bands] == [
        (0, 0, True),
        (1, 5, True),
        (6, 11, True),
    ]


def test_too_few_networks_certify_nothing():
    rng = np.random.default_rng(20)
    folds, counts = wishart_folds(np.diag(np.linspace(2, 1, 40)), 4, rng)
    spectrum = sampled_spectrum(folds, counts, dense(40))
    assert spectrum.certified_share() < 0.1
    one, counts = wishart_folds(np.eye(1), 40, rng)
    assert sampled_spectrum(one, counts, Structure("isotropic", (5,))).certified_share() == 1


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
    structure = Structure("channels", (1, 4))
    even, odd = np.array([1.0, 0, 0, 1]) / np.sqrt(2), np.array([0, 1.0, -1, 0]) / np.sqrt(2)
    true = np.outer(even, even) + np.outer(odd, odd) + 0.1 * np.eye(4)
    rng = np.random.default_rng(15)
    folds, counts = wishart_folds(true, 2000, rng)
    plain = sampled_spectrum(folds, counts, structure)
    split = sampled_spectrum(folds, counts, structure, ("flip",))
    assert plain.bands[0].width == 2
    assert [band.width for band in split.bands[:2]] == [1, 1]
    found = np.abs(split.eigenvectors[:, :2].T @ np.stack([even, odd], axis=1))
    np.testing.assert_allclose(np.sort(found, axis=1), [[0, 1], [0, 1]], atol=0.02)


def test_pairs_of_the_square_are_exactly_degenerate():
    structure = Structure("channels", (1, 4, 4))
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
    spectrum = sampled_spectrum(folds, counts, Structure("channels", (2, 3)))
    assert [(b.first, b.last) for b in spectrum.bands] == [(0, 1), (2, 3), (4, 5)]
    assert spectrum.eigenvalues.shape == (6,)
    assert spectrum.band_of(3).first == 2


def test_halvings_are_orthogonal_and_do_not_share_folds():
    contrasts = []
    for first, second in CERTIFYING_HALVES:
        assert len(first) == len(second)
        contrast = np.zeros(FOLDS)
        contrast[first], contrast[second] = 1, -1
        contrasts.append(contrast)
    gram = np.array(contrasts) @ np.array(contrasts).T
    np.testing.assert_array_equal(gram, (FOLDS - GROUPING) * np.eye(len(contrasts)))
    used = {int(f) for halves in GROUPING_HALVES for half in halves for f in half}
    certifying = {int(f) for halves in CERTIFYING_HALVES for half in halves for f in half}
    assert not used & certifying


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


def test_block_overlaps_are_those_of_subspaces():
    rng = np.random.default_rng(19)
    u, v = random_basis(4, rng), random_basis(4, rng)
    ones = np.ones(4, dtype=int)
    levels = Levels(sector=0 * ones, rank=np.arange(4), multiplicity=ones, null=ones < 0)
    found = block_overlaps((u.T @ v) ** 2, levels, [(0, 1), (2, 2), (3, 3)])
    assert found[0] == pytest.approx(np.sum((u[:, :2].T @ v[:, :2]) ** 2) / 2)
    assert found[1] == pytest.approx((u[:, 2] @ v[:, 2]) ** 2)
