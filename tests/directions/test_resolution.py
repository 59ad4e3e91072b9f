"""Windows, intervals of eigenvalues and indices against matrices whose eigenvectors are known."""

import numpy as np
import pytest

from sads.directions import FOLDS, Resolution, exact_spectrum, sampled_spectrum
from sads.directions.folds import descending_eigh, restrict_folds
from sads.directions.mixing import Mixing
from sads.directions.structure import Channels, Dense
from sads.directions.symmetry import sectors
from sads.presentation.directions import headline
from sads.presentation.numbers import percentage

from .synthetic import Truth, random_basis, wishart_folds

SQUARE = Channels((1, 6, 6))
KINDS = {
    "spread": np.geomspace(100, 0.01, 36),
    "dense": np.linspace(2, 1, 36),
    "groups": np.array([9.0] + [4.0] * 15 + [1.0] * 20),
    "outlier": np.concatenate([[1131.0], np.geomspace(46, 0.1, 35)]),
    "null": np.concatenate([np.geomspace(10, 0.1, 20), np.zeros(16)]),
}
SYMMETRIES = ((), ("transpose",), ("flip", "transpose"))


@pytest.fixture(scope="module")
def repeats() -> list[tuple[Truth, list]]:
    """Spectra of all kinds from 20 to 500 samples a fold: 135 of them, some 3,500 levels."""
    rng = np.random.default_rng(31)
    results = []
    for values in KINDS.values():
        for names in SYMMETRIES:
            for per_fold in (20, 100, 500):
                truth = Truth.planted(values, SQUARE, names, rng)
                results.append((truth, [truth.sample(per_fold, rng) for _ in range(3)]))
    return results


def test_windows_cover_at_least_at_their_rate(repeats):
    """At most 5 % of the directions have more than 5 % of their energy outside their window.

    Measured on 54,090 levels with other seeds it is 0.8 % (3.3 % for the worst kind and number of
    networks), so that a random failure of this test is out of the question.
    """
    outside = [
        truth.energy_outside(spectrum, *place) > 0.05 + 1e-9
        for truth, spectra in repeats
        for spectrum in spectra
        for place in truth.levels(spectrum)
    ]
    assert len(outside) > 3000
    assert np.mean(outside) < 0.03


def test_windows_are_not_much_wider_than_needed(repeats):
    """Their mean is below twice that of the smallest windows that would do, and one level more."""
    stated, needed = [], []
    for truth, spectra in repeats:
        for spectrum in spectra:
            for level, sector, place in truth.levels(spectrum):
                vector = spectrum.factor_vectors[:, level.index]
                energies = (truth.bases[sector].T @ vector) ** 2
                reach = np.abs(np.arange(len(energies)) - place)
                enough = [energies[reach <= r].sum() >= 0.95 for r in range(len(energies))]
                stated.append(level.window)
                needed.append(int(np.argmax(enough)))
    assert np.mean(stated) < 1 + 2 * np.mean(needed)


def test_intervals_of_eigenvalues_and_indices_hold_for_all_levels_at_once(repeats):
    """For 95 % of the spectra; a binomial test at 1 % of 135 spectra allows 13 that fail."""
    wrong_values, wrong_indices = 0, 0
    for truth, spectra in repeats:
        for spectrum in spectra:
            levels = list(truth.levels(spectrum))
            true = [truth.values[sector][place] for _, sector, place in levels]
            wrong_values += not all(
                level.eigenvalue_low <= v * (1 + 1e-9) and v <= level.eigenvalue_high * (1 + 1e-9)
                for (level, _, _), v in zip(levels, true, strict=True)
            )
            wrong_indices += not all(
                level.index_low <= truth.indices(*place)[1]
                and truth.indices(*place)[0] <= level.index_high
                for level, *place in levels
            )
    assert wrong_values <= 13
    assert wrong_indices <= 13


def test_limits_contain_what_is_reported_and_index_intervals_the_index(repeats):
    for _, spectra in repeats:
        for spectrum in spectra:
            for level in spectrum.resolution:
                value = spectrum.eigenvalues[level.index]
                assert level.eigenvalue_low <= value <= level.eigenvalue_high
                assert level.index_low <= level.index
                assert level.index + level.multiplicity - 1 <= level.index_high


def test_windows_shrink_with_the_networks_and_do_not_jump():
    """Each fourfold number of networks, the earlier ones among them, narrows the windows."""
    rng = np.random.default_rng(32)
    truth = Truth.planted(np.geomspace(50, 1, 36), SQUARE, (), rng)
    folds, counts = zip(*(wishart_folds(truth.factor, 15, rng) for _ in range(64)), strict=True)
    medians, worst = [], []
    for parts in (1, 4, 16, 64):
        mean = np.mean(folds[:parts], axis=0)
        spectrum = sampled_spectrum(mean, counts[0] * parts, SQUARE)
        medians.append(spectrum.resolution_median)
        worst.append(spectrum.resolution_worst)
    assert medians == sorted(medians, reverse=True)
    assert worst == sorted(worst, reverse=True)
    # First order: the energy outside falls as one over networks times window.
    assert medians[0] > medians[1] > medians[2] > 0
    assert medians[-1] <= medians[0] // 4


def test_a_degenerate_group_is_covered_by_its_windows():
    """Vectors inside are arbitrary: windows reach both ends of the group, and not far beyond."""
    rng = np.random.default_rng(33)
    values = np.array([9.0] + [4.0] * 10 + [1.0] * 13)
    truth = Truth.planted(values, Dense((24,)), (), rng)
    for per_fold in (300, 30_000):  # no number of networks helps
        windows = truth.sample(per_fold, rng).windows
        place = np.arange(1, 11)
        assert windows[0] == 0
        assert np.all(windows[1:11] >= np.maximum(place - 1, 10 - place) - 1)
        assert np.all(windows[1:11] <= 10)


def test_energies_are_a_quarter_of_those_between_halves():
    """To first order: halves have twice the variance of the pool, and two of them differ.

    Means over 200 pairs of halves; the standard error of the ratio is below 3 %.
    """
    rng = np.random.default_rng(34)
    values = np.array([16.0, 11.0, 7.0, 4.0, 2.0, 1.0])
    stated, between = np.zeros((6, 6)), np.zeros((6, 6))
    for _ in range(200):
        folds, counts = wishart_folds(np.diag(values), 400, rng)
        part = restrict_folds(folds, counts, sectors(Dense((6,)), ()))[0]
        stated += Mixing.of(part, 6, seen=True).energies
        first, second = (descending_eigh(folds[k::2].mean(axis=0))[1] for k in (0, 1))
        between += (first.T @ second) ** 2
    off = ~np.eye(6, dtype=bool)
    assert np.sum(between[off]) / np.sum(stated[off]) == pytest.approx(4, rel=0.1)


def test_energies_are_right_where_the_noise_is_as_large_as_the_gaps():
    """The mean profile of strongly mixed vectors, by brute force from the true eigenvectors."""
    rng = np.random.default_rng(35)
    values = np.linspace(2, 1, 40)
    stated, true = np.zeros(40), np.zeros(40)
    for _ in range(60):
        folds, counts = wishart_folds(np.diag(values), 40, rng)
        part = restrict_folds(folds, counts, sectors(Dense((40,)), ()))[0]
        energies = Mixing.of(part, 40, seen=True).energies
        vectors = part.pooled[1]
        for reach in range(40):
            far = np.abs(np.subtract.outer(np.arange(40), np.arange(40))) > reach
            stated[reach] += energies[far].sum() / 40
            true[reach] += (vectors.T**2)[far].sum() / 40
    assert true[0] / 60 > 0.9  # nothing is left of single vectors
    # On the safe side, but for little of what is nearest, and not by far.
    assert np.all(stated >= 0.98 * true)
    assert stated.sum() < 1.5 * true.sum()


def test_exact_groups_and_the_null_space_are_one_level_each():
    rng = np.random.default_rng(36)
    structure = Channels((3, 4, 4))
    values = np.concatenate([np.geomspace(9, 1, 8), np.zeros(8)])
    truth = Truth.planted(values, structure, ("flip", "transpose"), rng)
    spectrum = truth.sample(400, rng)
    pairs = [s.multiplicity for s in sectors(structure, truth.names)]
    live = [(m, int(np.sum(v > 0))) for m, v in zip(pairs, truth.values, strict=True)]
    expected = sorted(3 * m for m, count in live for _ in range(count))
    assert sorted(level.multiplicity for level in spectrum.resolution[:-1]) == expected
    null = spectrum.resolution[-1]
    size = sum(expected)
    assert null == Resolution(size, 48 - size, 0, size, 47, 0.0, 0.0, null=True)
    assert all(level.index_high < size for level in spectrum.resolution[:-1])
    assert len(spectrum.windows) == 48
    assert f"{len(expected)} exact groups" in headline(spectrum)


def test_a_lack_of_networks_is_not_a_null_space():
    """24 samples see at most 24 of 36 directions: no window is stated, no null space certified."""
    rng = np.random.default_rng(37)
    truth = Truth.planted(np.geomspace(10, 1, 36), SQUARE, (), rng)
    spectrum = truth.sample(2, rng)
    assert spectrum.unseen
    assert np.all(spectrum.windows == 35)
    assert not any(level.null for level in spectrum.resolution)
    assert not any(band.certified for band in spectrum.bands)
    assert spectrum.resolution[-1].index_low <= 24
    assert "not known yet" in headline(spectrum)
    assert not truth.sample(20, rng).unseen


def test_a_closed_form_has_windows_of_zero():
    basis = random_basis(6, np.random.default_rng(38))
    spectrum = exact_spectrum(basis * [4, 3, 3, 1, 0, 0] @ basis.T, Dense((6,)))
    assert [(r.index, r.multiplicity, r.window, r.null) for r in spectrum.resolution] == [
        (0, 1, 0, False),
        (1, 2, 0, False),
        (3, 1, 0, False),
        (4, 2, 0, True),
    ]
    assert spectrum.resolution[1].index_low == 1
    assert spectrum.resolution[1].index_high == 2
    assert spectrum.eigenvalue_accuracy == 0
    assert (spectrum.resolution_median, spectrum.resolution_worst) == (0, 0)
    assert headline(spectrum) == "directions are exact, 1 exact group of equal eigenvalues"
    with pytest.raises(IndexError):
        spectrum.resolution_of(6)


def test_the_headline_counts_directions_outside_the_null_space():
    rng = np.random.default_rng(39)
    values = np.concatenate([[50.0, 20.0], np.linspace(2, 1.9, 4), np.zeros(12)])
    spectrum = Truth.planted(values, Dense((18,)), (), rng).sample(2000, rng)
    live = spectrum.windows[:6]
    assert spectrum.resolution_worst == live.max() > 0
    assert spectrum.resolution_median == np.sort(live)[3]
    half = [
        max(r.eigenvalue_high / v - 1, 1 - r.eigenvalue_low / v)
        for r, v in zip(spectrum.resolution[:6], spectrum.eigenvalues, strict=False)
    ]
    assert spectrum.eigenvalue_accuracy == pytest.approx(np.median(half))
    median, worst = spectrum.resolution_median, spectrum.resolution_worst
    assert headline(spectrum) == (
        f"directions known to within ± {median} levels (median), ± {worst} (worst), "
        f"eigenvalues within {percentage(spectrum.eigenvalue_accuracy)}"
    )


def test_folds_of_unequal_size_are_weighted():
    """Windows from half as many networks in every other fold lie between those of all and half."""
    rng = np.random.default_rng(40)
    truth = Truth.planted(np.geomspace(20, 1, 36), SQUARE, (), rng)
    many, counts = wishart_folds(truth.factor, 300, rng)
    few, fewer = wishart_folds(truth.factor, 30, rng)
    mixed = many.copy()
    mixed[::2], mixed_counts = few[::2], counts.copy()
    mixed_counts[::2] = fewer[::2]
    means = [
        sampled_spectrum(folds, c, SQUARE).windows.mean()
        for folds, c in ((many, counts), (mixed, mixed_counts), (few, fewer))
    ]
    assert means == sorted(means)
    assert len(mixed) == FOLDS
