from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from sads.directions import exact_spectrum
from sads.directions.structure import Channels, Dense, Isotropic, Tokens
from sads.presentation.mosaics import loudest, pictured
from sads.presentation.plots.directions import (
    dft_energy,
    draw_directions,
    shown_indices,
)


@pytest.mark.parametrize("size", [1, 2, 5, 9, 16, 256, 3072])
def test_shown_indices_are_distinct_and_reach_both_ends(size):
    shown = shown_indices(size)
    assert shown[0] == 0
    assert shown[-1] == size - 1
    assert shown == sorted(set(shown))


def test_dft_energy_keeps_energy_and_centres_the_mean():
    image = np.random.default_rng(0).standard_normal((8, 8))
    energy = dft_energy(image)
    assert energy.sum() == pytest.approx((image**2).sum())
    assert dft_energy(np.ones((8, 8)))[4, 4] == pytest.approx(64)


def test_the_loudest_channel_is_shown():
    picture = np.zeros((3, 2, 2))
    picture[1] = 5
    np.testing.assert_array_equal(loudest(picture), picture[1])


def test_tokens_are_shown_one_entry_a_patch():
    structure = Tokens((2, 4, 6), 2)
    tokens = np.arange(1.0, 7)
    vector = structure.embed(tokens[:, None])[:, 3]  # the fourth entry of every patch
    np.testing.assert_array_equal(pictured(vector, structure), tokens.reshape(2, 3))


def test_channels_are_shown_one_at_a_time():
    vector = np.concatenate([np.full(5, 0.1), np.arange(5.0)])
    shown = pictured(vector, Channels((2, 5)))
    np.testing.assert_array_equal(shown, np.arange(5.0))


def test_the_null_space_is_named_once():
    spectrum = exact_spectrum(np.diag([4.0, 3, 0, 0]), Channels((2, 4)))
    parts = [replace(b, null=True, exact=True) for b in split_last(spectrum.bands)]
    figure = draw_directions(replace(spectrum, bands=spectrum.bands[:-1] + tuple(parts)), "title")
    texts = [text.get_text() for sub in figure.subfigs for a in sub.axes for text in a.texts]
    assert [text for text in texts if "null space" in text] == ["null space (4)"]


def test_directions_are_marked_with_group_and_window():
    spectrum = exact_spectrum(np.diag([4.0, 3, 2, 0]), Channels((2, 4)))
    known = [replace(level, window=i) for i, level in enumerate(spectrum.resolution)]
    figure = draw_directions(replace(spectrum, resolution=tuple(known)), "title")
    titles = [axes.get_title().split("\n")[-1] for axes in figure.subfigs[1].axes]
    assert titles[:7] == ["1 of 2"] * 2 + ["1 of 2, ± 1"] * 2 + ["1 of 2, ± 2"] * 2 + ["null"]
    legend = [text.get_text() for text in figure.subfigs[0].axes[0].get_legend().get_texts()]
    assert legend == ["known alone (window 0)", "known with its neighbours only"]


def split_last(bands):
    """The last band as two."""
    last = bands[-1]
    assert last.null
    assert last.width == 4
    return replace(last, last=last.first + 1), replace(last, first=last.first + 2)


def test_the_axis_of_a_signal_shows_zero():
    """A constant eigenvector must not look like whatever its rounding looks like."""
    flat = np.full((6, 6), 1 / 6) + 5 * np.eye(6)[::-1]
    spectrum = exact_spectrum(flat @ flat.T, Channels((1, 6)))
    figure = draw_directions(spectrum, "title")
    axes = [a for sub in figure.subfigs for a in sub.axes][1 : 1 + len(shown_indices(6))]
    for plot in axes:
        low, high = plot.get_ylim()
        assert low == -high


@pytest.mark.parametrize(
    ("structure", "values"),
    [
        (Dense((6,)), [8, 5, 3, 2, 1, 1]),
        (Channels((2, 8)), [8, 7, 6, 5, 4, 3, 0, 0]),
        (Channels((3, 2, 2)), [4, 3, 2, 1]),
        (Tokens((1, 4, 4), 2), [4, 3, 2, 1]),
        (Isotropic((1, 3, 3)), [2]),
    ],
    ids=lambda x: str(getattr(x, "kind", "")),
)
def test_every_kind_of_sample_can_be_drawn(tmp_path, structure, values):
    figure = draw_directions(exact_spectrum(np.diag(np.array(values, float)), structure), "title")
    assert isinstance(figure, Figure)
    figure.savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 5000
