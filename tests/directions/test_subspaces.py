"""One suite for every basis of a subspace, and for structures on them."""

import numpy as np
import pytest
from scipy.fft import dctn

from sads.directions.reflections import reflections
from sads.directions.structure import Channels, Compressed, Dense, Structure, Tokens
from sads.directions.subspaces import Basis, Frequencies, Span
from sads.directions.symmetry import average, sectors


def _span(rows: int, columns: int, seed: int = 0) -> Span:
    draws = np.random.default_rng(seed).standard_normal((rows, columns))
    return Span.of(np.linalg.qr(draws)[0])


BASES = {
    "frequencies": Frequencies((4, 6), (2, 3)),
    "channels": Frequencies((4, 4), (3, 3), 2),
    "signal": Frequencies((9,), (4,)),
    "span": _span(10, 4),
}
each = pytest.mark.parametrize("basis", BASES.values(), ids=BASES)


@each
def test_columns_are_orthonormal_and_coordinates_are_theirs(basis: Basis):
    columns = basis.lift(np.eye(basis.columns)).T
    assert columns.shape == (basis.rows, basis.columns)
    np.testing.assert_allclose(columns.T @ columns, np.eye(basis.columns), atol=1e-12)
    vectors = np.random.default_rng(1).standard_normal((2, 3, basis.rows))
    np.testing.assert_allclose(basis.coordinates(vectors), vectors @ columns, atol=1e-12)
    np.testing.assert_allclose(basis.ones, columns.sum(axis=0), atol=1e-12)


@each
def test_a_matrix_is_compressed_from_both_sides(basis: Basis):
    root = np.random.default_rng(2).standard_normal((basis.rows, basis.rows))
    columns = basis.lift(np.eye(basis.columns)).T
    whole = root @ root.T
    np.testing.assert_allclose(basis.compress(whole), columns.T @ whole @ columns, atol=1e-10)


def test_frequencies_are_those_of_the_dct():
    image = np.random.default_rng(3).standard_normal((4, 6))
    expected = dctn(image, norm="ortho")[:2, :3]
    coordinates = BASES["frequencies"].coordinates(image.reshape(-1))
    np.testing.assert_allclose(coordinates, expected.reshape(-1), atol=1e-12)


def test_one_subspace_is_inside_another():
    small, large = Frequencies((4, 6), (2, 2)), Frequencies((4, 6), (3, 4))
    turn = small.inside(large)
    np.testing.assert_allclose(large.lift(turn.T), small.lift(np.eye(4)), atol=1e-12)
    assert large.inside(small) is None
    assert small.inside(_span(24, 12)) is None
    assert _span(10, 4).inside(_span(10, 4)) is not None


STRUCTURES = {
    "channels": Channels((3, 4, 4)).compressed(Frequencies((4, 4), (2, 2))),
    "tokens": Tokens((2, 8, 8), patch=2).compressed(Frequencies((4, 4), (3, 3))),
    "dense": Dense((2, 4, 4)).compressed(Frequencies((4, 4), (2, 2), 2)),
    "span": Channels((2, 3, 4)).compressed(_span(12, 5)),
}


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_a_compressed_structure_is_one_matrix(structure: Compressed):
    rng = np.random.default_rng(4)
    root = rng.standard_normal((structure.rows, structure.rows))
    factor = root @ root.T
    assert structure.directions == structure.rows * structure.imposed.copies
    whole, vectors = structure.expand(factor), rng.standard_normal((3, structure.size))
    np.testing.assert_allclose(structure.apply(factor, vectors), vectors @ whole, atol=1e-9)
    values, eigenvectors = np.linalg.eigh(factor)
    columns = structure.embed(eigenvectors)
    np.testing.assert_allclose(columns.T @ columns, np.eye(structure.directions), atol=1e-9)
    diagonal = np.diag(np.repeat(values, structure.copies))
    np.testing.assert_allclose(columns @ diagonal @ columns.T, whole, atol=1e-9)
    for index in (0, structure.directions - 1):
        row, copy = divmod(index, structure.copies)
        alone = structure.vector(eigenvectors[:, row], copy)
        np.testing.assert_allclose(alone, columns[:, index], atol=1e-12)
    parts = structure.parts(vectors).swapaxes(1, 2).reshape(3, -1)
    np.testing.assert_allclose(parts, vectors @ structure.embed(np.eye(structure.rows)), atol=1e-9)


@pytest.mark.parametrize("names", [("flip",), ("transpose",), ("flip", "transpose")], ids=str)
@pytest.mark.parametrize("inner", [Channels((1, 6, 6)), Dense((2, 4, 4))], ids=lambda s: s.kind)
def test_symmetries_of_the_whole_are_those_of_its_low_frequencies(inner: Structure, names):
    """Averaging and compressing commute, and the sectors put the average together again."""
    channels, sides = inner.grid
    structure = inner.compressed(Frequencies(sides, (3, 3), channels))
    root = np.random.default_rng(5).standard_normal((inner.rows, inner.rows))
    whole = root @ root.T
    compressed = structure.basis.compress(whole)
    expected = structure.basis.compress(average(whole, inner, names))
    np.testing.assert_allclose(average(compressed, structure, names), expected, atol=1e-9)
    parts = sectors(structure, names)
    columns = np.hstack([image.toarray() for part in parts for image in part.images])
    np.testing.assert_allclose(columns.T @ columns, np.eye(structure.rows), atol=1e-12)
    again = sum(
        (image @ part.restrict(compressed)) @ image.toarray().T
        for part in parts
        for image in part.images
    )
    np.testing.assert_allclose(again, expected, atol=1e-9)
    assert len(parts) > 1


def test_a_span_has_no_symmetries_of_its_own():
    assert reflections(STRUCTURES["span"], "flip") == []


def test_rows_of_a_subspace_are_no_entries():
    with pytest.raises(TypeError, match="not entries"):
        _ = STRUCTURES["span"].entries
