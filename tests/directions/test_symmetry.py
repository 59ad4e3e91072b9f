import numpy as np
import pytest
from scipy.stats import binomtest

from sads.directions import FOLDS, Structure
from sads.directions.reflections import reflections
from sads.directions.structure import Channels, Dense, Isotropic, Tokens
from sads.directions.symmetry import average, sectors, surviving, symmetry_p_value

from .synthetic import random_basis, wishart_folds

CASES = [
    (Channels((1, 4, 4)), ("transpose",)),
    (Channels((1, 4, 4)), ("flip", "transpose")),
    (Channels((1, 5, 5)), ("flip", "transpose")),
    (Channels((2, 3, 4)), ("flip", "transpose")),
    (Channels((1, 6)), ("flip",)),
    (Tokens((1, 8, 8), patch=2), ("transpose",)),
    (Dense((2, 3, 3)), ("flip", "transpose")),
    (Isotropic((1, 4, 4)), ("transpose",)),
    (Dense((5,)), ("flip", "transpose")),
]


def group_of(structure: Structure, names: tuple[str, ...]) -> list[np.ndarray]:
    """All permutations that the named reflections generate, by brute force."""
    generators = [r for name in names for r in reflections(structure, name)]
    elements = {tuple(range(structure.rows))}
    frontier = list(elements)
    while frontier:
        frontier = [
            image
            for element in frontier
            for g in generators
            if (image := tuple(np.array(element)[g.rows])) not in elements
            and not elements.add(image)
        ]
    return [np.array(element) for element in elements]


@pytest.mark.parametrize(("structure", "names"), CASES, ids=str)
def test_sectors_are_a_complete_orthonormal_basis(structure, names):
    bases = [image.toarray() for part in sectors(structure, names) for image in part.images]
    whole = np.hstack(bases)
    np.testing.assert_allclose(whole.T @ whole, np.eye(structure.rows), atol=1e-12)


@pytest.mark.parametrize(("structure", "names"), CASES, ids=str)
def test_average_is_the_mean_over_the_group(structure, names):
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((structure.rows, structure.rows))
    matrix = matrix + matrix.T
    group = group_of(structure, names)
    expected = np.mean([matrix[np.ix_(g, g)] for g in group], axis=0)
    np.testing.assert_allclose(average(matrix, structure, names), expected, atol=1e-12)


@pytest.mark.parametrize(("structure", "names"), CASES, ids=str)
def test_sectors_reassemble_the_averaged_matrix(structure, names):
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((structure.rows, structure.rows))
    matrix = matrix @ matrix.T
    whole = sum(
        (image @ part.restrict(matrix)) @ image.toarray().T
        for part in sectors(structure, names)
        for image in part.images
    )
    np.testing.assert_allclose(whole, average(matrix, structure, names), atol=1e-9)


def test_the_square_has_one_sector_of_pairs():
    parts = sectors(Channels((1, 4, 4)), ("flip", "transpose"))
    assert sorted((part.multiplicity, part.size) for part in parts) == [
        (1, 1),
        (1, 1),
        (1, 3),
        (1, 3),
        (2, 4),
    ]


def test_a_rectangle_has_no_transpose():
    assert reflections(Channels((1, 3, 4)), "transpose") == []


def test_veto_keeps_a_true_symmetry_and_finds_a_broken_one():
    """200 repeats; a true symmetry may be vetoed with probability 0.001 each."""
    structure = Channels((1, 4, 4))
    rng = np.random.default_rng(2)
    vetoed = 0
    for _ in range(200):
        basis = random_basis(16, rng)
        true = average(basis * np.linspace(3, 1, 16) @ basis.T, structure, ("transpose",))
        folds, _ = wishart_folds(true, 50, rng)
        vetoed += surviving(folds, structure, ("transpose",)) != ("transpose",)
    assert binomtest(vetoed, 200, 0.001, alternative="greater").pvalue > 1e-3
    basis = random_basis(16, rng)
    folds, _ = wishart_folds(basis * np.linspace(3, 1, 16) @ basis.T, 500, rng)
    assert surviving(folds, structure, ("transpose",)) == ()


def test_sign_flip_p_values_are_valid():
    """Under the symmetry P(p <= 1/4) is at most 1/4; 300 repeats, tested at the 0.1 % level."""
    structure = Channels((1, 3, 3))
    (reflection,) = reflections(structure, "transpose")
    rng = np.random.default_rng(3)
    folds = [wishart_folds(np.eye(9), 30, rng)[0] for _ in range(300)]
    small = sum(symmetry_p_value(f, reflection) <= 0.25 for f in folds)
    assert binomtest(small, 300, 0.25, alternative="greater").pvalue > 1e-3
    assert binomtest(small, 300, 0.25, alternative="less").pvalue > 1e-3


def test_folds_are_enough_for_the_veto():
    assert 2.0 ** (1 - FOLDS) < 0.001
