"""Sets of directions against their columns written out."""

import numpy as np
import pytest

from sads.data import basis
from sads.directions.sets import ChannelMeans, Columns, Cosines, DirectionSet, Entries
from sads.errors import InputError

SHAPE = (2, 4, 6)


def _sets() -> dict[str, DirectionSet]:
    columns = np.linalg.qr(np.random.default_rng(0).standard_normal((48, 5)))[0]
    return {
        "columns": Columns(SHAPE, columns),
        "grouped": Columns(SHAPE, columns, np.array([1, 0, 1, 2, 0]), ("a", "b", "c")),
        "cosines": Cosines(SHAPE),
        "bands": Cosines(SHAPE, 4),
        "one band": Cosines(SHAPE, 1),
        "means": ChannelMeans(SHAPE),
        "entries": Entries(SHAPE),
        "signal": Cosines((8,), 3),
    }


def _matrix(directions: DirectionSet) -> np.ndarray:
    return directions.coefficients(np.eye(directions.size))


@pytest.mark.parametrize("name", _sets())
def test_products_are_sums_over_the_columns_of_a_group(name: str) -> None:
    directions = _sets()[name]
    matrix = _matrix(directions)
    assert np.allclose(matrix.T @ matrix, np.eye(matrix.shape[1]))
    a, b = np.random.default_rng(1).standard_normal((2, 3, directions.size))
    brute = np.zeros((3, len(directions.labels)))
    for i, group in enumerate(directions.groups):
        brute[:, group] += (a @ matrix[:, i]) * (b @ matrix[:, i])
    assert np.allclose(directions.products(a, b), brute)
    assert np.allclose(directions.products(a, a), directions.products(a, a.copy()))
    assert directions.widths.sum() == matrix.shape[1]
    assert (directions.widths > 0).all()
    assert len(directions.labels) == len(directions.widths)


def test_cosines_are_the_dct_basis() -> None:
    assert np.allclose(_matrix(Cosines((2, 4, 4))), basis("dct", (2, 4, 4)))


def test_the_first_band_is_the_constant_of_every_channel_alone() -> None:
    bands = Cosines(SHAPE, 4)
    constant = np.concatenate([np.ones(24), np.zeros(24)])[None] / np.sqrt(24)
    assert np.allclose(bands.products(constant, constant), [[1.0, 0.0, 0.0, 0.0]])
    assert bands.widths[0] == SHAPE[0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (np.eye(5), "columns of 48 entries"),
        (np.ones((48, 2)), "orthonormal"),
        (np.full((48, 1), np.nan), "NaN"),
    ],
)
def test_columns_that_are_no_directions_are_refused(columns: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Columns(SHAPE, columns)


def test_too_many_bands_are_refused() -> None:
    with pytest.raises(InputError, match="1 to 24, got 25"):
        Cosines(SHAPE, 25)
