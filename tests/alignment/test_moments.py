"""The second moment against brute force, and bad data."""

import numpy as np
import pytest

from sads.alignment import second_moment
from sads.alignment.moments import CHUNK
from sads.directions.structure import STRUCTURES
from sads.errors import InputError


@pytest.mark.parametrize("count", [1, 5, CHUNK, CHUNK + 3, 2 * CHUNK + 1])
def test_second_moment_is_the_mean_outer_product(count):
    x = np.random.default_rng(count).normal(1.0, 2.0, (count + 1, 2, 3, 4)).astype(np.float32)
    flat = x.reshape(len(x), -1).astype(float)
    moment = second_moment(x, (2, 3, 4))
    np.testing.assert_allclose(moment.matrix, flat.T @ flat / len(x), rtol=1e-12)
    assert np.array_equal(moment.matrix, moment.matrix.T)
    assert moment.count == count + 1


def test_moment_larger_than_a_block_is_symmetric():
    x = np.random.default_rng(0).normal(size=(7, 1, 30, 40)).astype(np.float32)
    flat = x.reshape(7, -1).astype(float)
    np.testing.assert_allclose(second_moment(x, (1, 30, 40)).matrix, flat.T @ flat / 7, atol=1e-12)


def test_samples_may_come_in_pieces():
    x = np.random.default_rng(0).normal(size=(50, 1, 4, 4)).astype(np.float32)
    whole = second_moment(x, (1, 4, 4))
    parts = second_moment(iter([x[:20], x[20:21], x[21:]]), (1, 4, 4))
    np.testing.assert_allclose(whole.matrix, parts.matrix, rtol=1e-12)
    assert parts.count == 50


def test_watch_sees_every_sample_once_in_order():
    x = np.random.default_rng(0).normal(size=(CHUNK + 9, 5)).astype(np.float32)
    seen = []
    second_moment(x, (5,), watch=lambda chunk: seen.append(chunk.copy()))
    np.testing.assert_array_equal(np.concatenate(seen), x.astype(float))


@pytest.mark.parametrize(
    ("kind", "shape"), [("dense", (2, 4, 4)), ("channels", (3, 4, 4)), ("tokens", (2, 4, 4))]
)
def test_reduced_moment_gives_the_trace_with_any_factor(kind, shape):
    structure = STRUCTURES[kind](shape, patch=2 if kind == "tokens" else 1)
    rng = np.random.default_rng(1)
    moment = second_moment(rng.normal(size=(20, *shape)).astype(np.float32), shape)
    factor = rng.normal(size=(structure.rows, structure.rows))
    expected = np.trace(structure.expand(factor) @ moment.matrix)
    assert np.vdot(factor, moment.reduced(structure)) == pytest.approx(expected, rel=1e-10)


def test_leading_eigenpairs():
    moment = second_moment(np.random.default_rng(2).normal(size=(40, 9)).astype(np.float32), (9,))
    values, vectors = np.linalg.eigh(moment.matrix)
    leading, columns = moment.leading(3)
    np.testing.assert_allclose(leading, values[::-1][:3])
    np.testing.assert_allclose(np.abs(columns.T @ vectors[:, ::-1][:, :3]), np.eye(3), atol=1e-10)
    np.testing.assert_allclose(moment.eigenvalues(), values[::-1])
    np.testing.assert_allclose(moment.eigenvalues(destroy=True), values[::-1])


def test_bad_data_is_refused_in_words():
    with pytest.raises(InputError, match=r"2x3.*geometry has 1x4x4.*a geometry on 2x3"):
        second_moment(np.ones((5, 2, 3)), (1, 4, 4))
    with pytest.raises(InputError, match=r"all 5 samples of data are zero"):
        second_moment(np.zeros((5, 4)), (4,))
    with pytest.raises(InputError, match=r"are the same: expected data that varies"):
        second_moment(np.full((5, 4), 0.3), (4,))
    with pytest.raises(InputError, match=r"NaN"):
        second_moment(np.array([[1.0, np.nan], [0.0, 1.0]]), (2,))
    with pytest.raises(InputError, match=r"no samples"):
        second_moment(np.ones((0, 4)), (4,))
