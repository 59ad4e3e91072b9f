"""Pictures in a report: what is stored, and what was lost."""

import base64
import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sads.report.frequencies import mean_frequency
from sads.report.pictures import (
    MOST,
    PIXELS,
    budget,
    chosen_rows,
    eight_bit,
    samples_picture,
)


@given(st.integers(1, 20_000), st.integers(8, 2_000))
def test_both_ends_are_stored_and_never_too_many(rows, most):
    chosen = chosen_rows(rows, most)
    assert len(chosen) == len(np.unique(chosen)) <= most
    assert chosen.min() >= 0
    assert chosen.max() < rows
    assert {0, rows - 1} <= set(chosen.tolist())
    assert len(chosen) == rows or len(chosen) == most


@given(st.integers(1, 30_000), st.integers(1, 6))
def test_large_pictures_are_at_most_a_thousand(pixels, geometries):
    each = budget(pixels, geometries)
    assert each * geometries <= max(MOST, PIXELS // pixels)


def test_a_byte_a_pixel_keeps_the_picture():
    picture = np.random.default_rng(0).standard_normal((16, 16))
    stored = np.frombuffer(base64.b64decode(eight_bit(picture)), dtype=np.uint8)
    back = (stored.reshape(16, 16).astype(float) - 128) / 127 * np.abs(picture).max()
    assert np.abs(back - picture).max() <= np.abs(picture).max() / 254 + 1e-12


def test_frequencies_of_known_patterns():
    x = np.arange(16)
    wave = np.cos(2 * np.pi * 4 * x / 16)
    np.testing.assert_allclose(mean_frequency(wave), 0.5, atol=1e-12)
    np.testing.assert_allclose(mean_frequency(np.outer(wave, wave)), np.sqrt(0.5), atol=1e-12)


def test_samples_become_a_png_of_their_values():
    samples = np.zeros((4, 1, 3, 3))
    samples[0], samples[1] = -1, 7  # beyond the range is clipped
    uri = samples_picture(samples)
    image = Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1])))
    pixels = np.asarray(image)
    assert pixels.shape == (7, 7)
    assert pixels[0, 0] == 0
    assert pixels[0, 5] == 255
    assert pixels[5, 5] == 128
