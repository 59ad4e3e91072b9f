"""The contact sheet shows the samples themselves."""

import numpy as np
import pytest

from sads.data import Dataset
from sads.presentation.mosaics import mosaic
from sads.presentation.plots.contact_sheet import draw_contact_sheet


def drawn(samples: np.ndarray) -> np.ndarray:
    figure = draw_contact_sheet(Dataset(samples.astype(np.float32), "mine"))
    return np.asarray(figure.axes[0].images[0].get_array())


def test_tiles_are_in_reading_order_with_gaps():
    samples = np.arange(5.0)[:, None, None, None] * np.ones((5, 1, 2, 2))
    sheet = mosaic(samples)
    assert sheet[::3, ::3].tolist()[0] == [0, 1, 2]
    assert sheet[3, 0] == 3
    assert sheet[3, 3] == 4
    assert np.isnan(sheet[2]).all()
    assert np.isnan(sheet[3:, 6:]).all()


def test_colours_and_other_channels():
    rng = np.random.default_rng(0)
    colour = rng.random((4, 3, 2, 2))
    assert np.array_equal(mosaic(colour)[:2, :2], colour[0].transpose(1, 2, 0))
    two = rng.random((1, 2, 3, 3)) * np.array([0.1, 1])[:, None, None]
    assert np.array_equal(mosaic(two), two[0, 1])


def test_minus_one_is_black_and_one_white():
    assert drawn(np.array([-1.0, 0, 0.5, 1]).reshape(1, 1, 2, 2)).tolist() == [[0, 0.5], [0.75, 1]]


def test_larger_values_are_divided_around_zero():
    assert drawn(np.array([-8.0, 0, 4, 4]).reshape(1, 1, 2, 2)).tolist() == [[0, 0.5], [0.75, 0.75]]


@pytest.mark.parametrize(("shape", "picture"), [((70, 5), (64, 5)), ((3, 2, 4), (3, 8))])
def test_samples_without_height_are_rows(shape, picture):
    assert drawn(np.zeros(shape)).shape == picture
