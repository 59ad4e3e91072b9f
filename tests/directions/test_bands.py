"""Bands: no significant gap inside, certificates that hold, no remainder that is certified."""

import numpy as np
import pytest
from scipy.stats import binomtest

from sads.directions import Structure, sampled_spectrum
from sads.directions.spectrum import Spectrum
from sads.directions.structure import Channels, Dense, Isotropic

from .synthetic import Truth, random_basis, wishart_folds


def dense(size: int) -> Structure:
    return Dense((size,))


def sample(values: np.ndarray, per_fold: int, rng: np.random.Generator) -> tuple[Truth, Spectrum]:
    truth = Truth.planted(np.asarray(values, float), dense(len(values)), (), rng)
    return truth, truth.sample(per_fold, rng)


def widths(spectrum: Spectrum) -> list[tuple[int, bool]]:
    return [(band.width, band.certified) for band in spectrum.bands]


@pytest.fixture(scope="module")
def repeats() -> list[tuple[Truth, Spectrum]]:
    """120 spectra with gaps of all sizes and near ties, and with sectors."""
    rng = np.random.default_rng(51)
    results = []
    for _ in range(30):
        values = np.exp(-rng.uniform(0, 5, 30))
        values[:5] = values[5:10] * 1.0001
        for per_fold in (100, 1000):
            results.append(sample(values, per_fold, rng))
            truth = Truth.planted(values, Channels((1, 30)), ("flip",), rng)
            results.append((truth, truth.sample(per_fold, rng)))
    return results


def test_certified_bands_hold_what_they_state(repeats):
    """A one-sided 99 % binomial test that 95 % of the certified bands are truly as good.

    As good means: an overlap of 0.95 with the true directions *of the same indices*.
    """
    good, certified = 0, 0
    for truth, spectrum in repeats:
        vectors = np.linalg.eigh(truth.factor)[1][:, ::-1]
        for band in spectrum.bands:
            if band.certified:
                part = slice(band.first, band.last + 1)
                overlap = np.sum((vectors[:, part].T @ spectrum.eigenvectors[:, part]) ** 2)
                certified += 1
                good += overlap / band.width >= 0.95
    assert certified > 500
    assert binomtest(good, certified, 0.95, alternative="less").pvalue > 0.01


def test_the_stated_overlap_is_the_true_one_on_average():
    """Over 300 spectra with a pair 30 % apart; the loss is known to a tenth or so."""
    rng = np.random.default_rng(52)
    stated, true = [], []
    for _ in range(300):
        folds, counts = wishart_folds(np.diag([9.0, 1.3, 1.0, 0.1]), 30, rng)
        spectrum = sampled_spectrum(folds, counts, dense(4))
        band = spectrum.bands[0]
        assert band.width == 1
        stated.append(1 - band.overlap)
        true.append(1 - spectrum.eigenvectors[0, 0] ** 2)
    assert np.mean(stated) == pytest.approx(np.mean(true), rel=0.15)


def test_no_band_holds_eigenvalues_that_are_told_apart(repeats):
    for _, spectrum in repeats:
        for band in spectrum.bands:
            inside = [r for r in spectrum.resolution if band.first <= r.index <= band.last]
            low, high = (
                max(r.eigenvalue_low for r in inside),
                min(r.eigenvalue_high for r in inside),
            )
            assert low <= high


def test_a_large_and_a_small_eigenvalue_never_share_a_band():
    """1131 +- 8 and 46.6 +- 0.5 of one sector or of two, however little is certified else."""
    rng = np.random.default_rng(53)
    values = np.concatenate([[1131.0, 46.6], np.linspace(7.4, 0.0015, 46)])
    for names in ((), ("flip",)):
        for per_fold in (10, 100, 1000):
            truth = Truth.planted(values, Channels((1, 48)), names, rng)
            spectrum = truth.sample(per_fold, rng)
            assert spectrum.bands[0].width == 1
            assert spectrum.band_of(1).first == 1


def test_a_decay_without_gaps_is_no_wide_band():
    """From 7.4 to 0.0015: the ends are told apart, so no band holds both, nor half of them."""
    rng = np.random.default_rng(54)
    _, spectrum = sample(np.geomspace(7.4, 0.0015, 60), 20, rng)
    assert max(band.width for band in spectrum.bands) < 20
    for band in spectrum.bands:
        values = spectrum.eigenvalues[[band.first, band.last]]
        assert values[0] / values[1] < 10


def test_equal_eigenvalues_are_cut_as_rarely_as_stated():
    """At most 5 % of the spectra have a significant gap inside a group: binomial, 1 %, of 150."""
    rng = np.random.default_rng(55)
    values = np.array([9.0] + [4.0] * 9 + [1.0] * 14)
    cut = sum(
        [band.width for band in sample(values, 60, rng)[1].bands] != [1, 9, 14] for _ in range(150)
    )
    assert binomtest(cut, 150, 0.05, alternative="greater").pvalue > 0.01


def test_a_degenerate_group_is_certified_as_a_whole():
    rng = np.random.default_rng(13)
    basis = random_basis(12, rng)
    values = np.array([9.0] + [4.0] * 5 + [1.0] * 6)
    folds, counts = wishart_folds(basis * values @ basis.T, 3000, rng)
    assert widths(sampled_spectrum(folds, counts, dense(12))) == [(1, True), (5, True), (6, True)]


def test_a_remainder_is_not_certified():
    """One direction is known, so its complement is; that says nothing of the complement itself."""
    rng = np.random.default_rng(56)
    _, spectrum = sample(np.array([100.0] + [1.0] * 23), 500, rng)
    assert widths(spectrum) == [(1, True), (23, False)]
    _, whole = sample(np.ones(24), 500, rng)
    assert widths(whole) == [(24, False)]


def test_too_few_networks_certify_little():
    rng = np.random.default_rng(20)
    _, spectrum = sample(np.linspace(2, 1, 40), 4, rng)
    assert not any(band.certified for band in spectrum.bands)
    one, counts = wishart_folds(np.eye(1), 40, rng)
    isotropic = sampled_spectrum(one, counts, Isotropic((5,)))
    assert widths(isotropic) == [(5, True)]
    assert isotropic.resolution[0].eigenvalue_low < 1 < isotropic.resolution[0].eigenvalue_high


def test_neighbours_of_different_sectors_are_not_certified_at_an_index_they_may_not_have():
    """Equal eigenvalues of an even and an odd direction: either may come first."""
    rng = np.random.default_rng(57)
    structure = Channels((1, 8))
    even, odd = np.zeros(8), np.zeros(8)
    even[[0, -1]], odd[[1, -2]] = 1, (1, -1)
    true = 0.1 * np.eye(8) + 2 * np.outer(even, even) + 2 * np.outer(odd, odd)
    folds, counts = wishart_folds(true, 2000, rng)
    spectrum = sampled_spectrum(folds, counts, structure, ("flip",))
    assert spectrum.bands[0].width == 2
    assert [level.window for level in spectrum.resolution[:2]] == [0, 0]
    assert all((r.index_low, r.index_high) == (0, 1) for r in spectrum.resolution[:2])
