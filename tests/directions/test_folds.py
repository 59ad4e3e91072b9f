"""Folds: what is computed in single precision or side by side agrees with the plain formulas."""

import numpy as np
import pytest
import torch

from sads.directions import FOLDS
from sads.directions.folds import EVERY_OTHER, THIRDS, descending_eigh, restrict_folds
from sads.directions.structure import Dense
from sads.directions.symmetry import LARGE, sectors
from sads.directions.whitening import halves_error, whitened_distance

from .synthetic import random_basis, wishart_folds


def _part(size: int, smallest: float, unit: float, seed: int = 0):
    rng = np.random.default_rng(seed)
    basis, values = random_basis(size, rng), unit * np.geomspace(1, smallest, size)
    folds, counts = wishart_folds(basis * values @ basis.T, 2 + size // 8, rng)
    return restrict_folds(folds, counts, sectors(Dense((size,)), ()))[0]


@pytest.mark.parametrize("smallest", [1e-3, 1e-9])
@pytest.mark.parametrize("unit", [1e-28, 1.0, 1e28])
def test_the_scatter_is_the_variance_of_the_mean(smallest: float, unit: float):
    part = _part(48, smallest, unit)
    variance, forms = part.scatter
    vectors = part.pooled[1]
    turned = np.array([vectors.T @ block @ vectors for block in part.blocks])
    plain = (turned - turned.mean(axis=0)).var(axis=0, ddof=1) / FOLDS
    off = ~np.eye(48, dtype=bool)
    np.testing.assert_allclose(variance[off], plain[off], rtol=1e-2)
    np.testing.assert_allclose(forms, np.einsum("kii->ki", turned), rtol=1e-6)


def test_decompositions_side_by_side_are_the_plain_ones():
    part = _part(LARGE, 1e-2, 1.0)
    values, vectors = descending_eigh(part.blocks.mean(axis=0))
    np.testing.assert_allclose(part.pooled[0], values, rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(part.pooled[1] * vectors, axis=0)), 1, rtol=1e-6)
    own = np.zeros(LARGE)
    for third in THIRDS:
        rest = np.setdiff1d(np.arange(FOLDS), third)
        own += np.linalg.eigvalsh(part.blocks[rest].mean(axis=0))[::-1] / len(THIRDS)
    np.testing.assert_allclose(part.cross_fitted[0], own, rtol=1e-10)


def test_bits_of_large_decompositions_do_not_depend_on_the_threads():
    threads = torch.get_num_threads()
    try:
        spectra = []
        for count in (1, 2):
            torch.set_num_threads(count)
            spectra.append(_part(LARGE, 1e-2, 1.0)._decomposed)
    finally:
        torch.set_num_threads(threads)
    for one, two in zip(*spectra, strict=True):
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[1], two[1])


def test_the_error_from_large_halves_is_half_their_whitened_distance():
    part = _part(LARGE, 1e-2, 1.0)
    a, b = (part.blocks[which].mean(axis=0) for which in EVERY_OTHER)
    expected = whitened_distance(a, b, (a + b) / 2) / 2
    assert halves_error(a, b, [part.sector]) == pytest.approx(expected, rel=1e-8)
