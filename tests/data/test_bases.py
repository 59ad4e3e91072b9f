"""The bases: orthonormal, inverse to the libraries' transforms, and in the documented order."""

import math

import numpy as np
import pytest
import pywt
import scipy.fft
from hypothesis import given, settings
from hypothesis import strategies as st

from sads.data import BASES, basis, centred, element, layout
from sads.data.bases import sequency_matrix
from sads.errors import InputError

any_size, power_of_two = st.integers(1, 9), st.sampled_from([1, 2, 4, 8])


@st.composite
def named_shapes(draw):
    """(L,), (C, L) or (C, H, W), of sizes that the basis takes."""
    name = draw(st.sampled_from(BASES))
    side = power_of_two if name in ("hadamard", "haar") else any_size
    axes = draw(st.integers(1, 3))
    space = [draw(side) for _ in range(max(1, axes - 1))]
    channels = [draw(st.integers(1, 3))] if axes > 1 else []
    return name, (*channels, *space)


@settings(deadline=None, max_examples=80)
@given(named_shapes())
def test_columns_are_orthonormal(case):
    name, shape = case
    columns = basis(name, shape)
    size = math.prod(shape)
    assert columns.shape == (size, size)
    np.testing.assert_allclose(columns.T @ columns, np.eye(size), atol=1e-12)


@settings(deadline=None, max_examples=80)
@given(named_shapes(), st.data())
def test_one_element_is_a_column(case, data):
    name, shape = case
    index = data.draw(st.integers(0, math.prod(shape) - 1))
    expected = basis(name, shape)[:, index]
    np.testing.assert_allclose(element(name, shape, index), expected, atol=1e-13)


@pytest.mark.parametrize("name", BASES)
def test_an_element_lives_in_one_channel(name):
    columns = basis(name, (3, 4, 4)).reshape(3, 16, 48)
    energy = np.square(columns).sum(axis=1)
    assert np.array_equal(energy.argmax(axis=0), layout((3, 4, 4))[:, 0])
    np.testing.assert_allclose(energy.max(axis=0), 1.0)


@pytest.mark.parametrize(
    ("name", "forward"),
    [("dct", scipy.fft.dctn), ("dst", scipy.fft.dstn)],
)
@pytest.mark.parametrize("space", [(6,), (5, 8), (16, 16)])
def test_analysis_agrees_with_scipy(name, forward, space):
    x = np.random.default_rng(0).standard_normal(space)
    coefficients = basis(name, (1, *space)).T @ x.ravel()
    expected = forward(x, type=2, norm="ortho")
    np.testing.assert_allclose(coefficients.reshape(space), expected, atol=1e-12)


@pytest.mark.parametrize("side", [2, 8, 16])
def test_haar_agrees_with_pywavelets_in_the_nested_layout(side):
    x = np.random.default_rng(0).standard_normal((side, side))
    expected, _ = pywt.coeffs_to_array(pywt.wavedec2(x, "haar"))
    coefficients = basis("haar", (1, side, side)).T @ x.ravel()
    np.testing.assert_allclose(coefficients.reshape(side, side), expected, atol=1e-12)


def test_haar_details_are_vertical_below_and_horizontal_to_the_right():
    columns = basis("haar", (1, 4, 4)).T.reshape(4, 4, 4, 4)
    coarse_vertical, coarse_horizontal = columns[1, 0], columns[0, 1]
    assert np.ptp(coarse_vertical, axis=1).max() < 1e-12 < np.ptp(coarse_vertical, axis=0).min()
    assert np.ptp(coarse_horizontal, axis=0).max() < 1e-12 < np.ptp(coarse_horizontal, axis=1).min()
    finest = columns[2, 3]  # first diagonal row, second column: the top right 2x2 pixels
    assert np.count_nonzero(np.abs(finest) > 1e-12) == 4
    assert np.abs(finest[:2, 2:]).min() > 0.4


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_hadamard_rows_are_in_sequency_order(size):
    rows = sequency_matrix(size)
    changes = (np.sign(rows[:, 1:]) != np.sign(rows[:, :-1])).sum(axis=1)
    assert changes.tolist() == list(range(size))


def test_hadamard_layout_counts_sign_changes_down_and_across():
    columns = basis("hadamard", (1, 4, 8)).T.reshape(4, 8, 4, 8)
    signs = np.sign(columns[2, 5])
    assert (signs[1:, 0] != signs[:-1, 0]).sum() == 2
    assert (signs[0, 1:] != signs[0, :-1]).sum() == 5


@pytest.mark.parametrize("name", ["dct", "hadamard", "haar"])
@pytest.mark.parametrize("shape", [(8,), (2, 8), (1, 8, 8), (1, 2, 16), (1, 16, 4)])
def test_the_first_element_is_constant(name, shape):
    first = element(name, shape, 0)
    space = math.prod(shape if len(shape) == 1 else shape[1:])
    np.testing.assert_allclose(first[:space], 1 / math.sqrt(space), atol=1e-12)


def test_frequencies_rise_down_and_across():
    columns = basis("dct", (1, 8, 8)).T.reshape(8, 8, 8, 8)
    picture = columns[3, 0]
    assert np.ptp(picture, axis=1).max() < 1e-12  # no horizontal change
    assert (np.sign(picture[1:, 0]) != np.sign(picture[:-1, 0])).sum() == 3


def test_the_canonical_basis_is_the_identity():
    assert np.array_equal(basis("canonical", (2, 3, 3)), np.eye(18))


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4)])
def test_layout_is_the_place_in_the_reshaped_results(shape):
    results = np.arange(math.prod(shape)).reshape(shape)
    assert [results[tuple(place)] for place in layout(shape)] == list(range(results.size))


def test_centred_picture_is_symmetric_around_index_zero():
    quarter = np.random.default_rng(0).random((2, 4, 5))
    picture = centred(quarter)
    assert picture.shape == (2, 7, 9)
    assert np.array_equal(picture, picture[:, ::-1, ::-1])
    assert np.array_equal(picture, picture[:, ::-1])
    assert np.array_equal(picture[:, 3:, 4:], quarter)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("fourier", (8,), "unknown basis"),
        ("haar", (1, 8, 6), "powers of two, got 6"),
        ("hadamard", (1, 12), "powers of two, got 12"),
        ("dct", (), "shape"),
        ("dct", (1, 0), "shape"),
    ],
)
def test_bases_that_do_not_exist(name, shape, message):
    with pytest.raises(InputError, match=message):
        basis(name, shape)


@pytest.mark.parametrize("index", [-1, 48])
def test_index_outside_the_basis(index):
    with pytest.raises(InputError, match="choose 0 to 47"):
        element("dct", (3, 4, 4), index)
