"""Strings to directions and Gaussian data."""

import numpy as np
import pytest

import sads
from sads.directions.sets import ChannelMeans, Cosines, Eigenvectors, Entries
from sads.errors import InputError
from sads.specs.coercion import as_dataset, as_directions

SHAPE = (1, 4, 4)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("dct", Cosines), ("dct:bands=3", Cosines), ("means", ChannelMeans), ("canonical", Entries)],
)
def test_names_of_directions(text, kind):
    assert isinstance(as_directions(text, shape=SHAPE), kind)


def test_directions_of_a_geometry(tmp_path):
    geometry = sads.estimate_geometry(
        "cnn,width=8,depth=2", shape=SHAPE, networks=48, out=tmp_path / "g"
    )
    directions = as_directions(f"geometry={tmp_path / 'g'}", shape=SHAPE)
    assert isinstance(directions, Eigenvectors)
    vector = geometry.spectrum().vector(3)[None]
    assert np.allclose(directions.products(vector, vector), np.eye(16)[3:4], atol=1e-12)
    with pytest.raises(InputError, match="of 1x4x4, the network takes 1x8x8"):
        as_directions(f"geometry={tmp_path / 'g'}", shape=(1, 8, 8))


def test_directions_of_a_file(tmp_path):
    np.save(tmp_path / "d.npy", np.eye(16)[:, :2])
    assert as_directions(f"npy:{tmp_path / 'd.npy'}", shape=SHAPE).widths.tolist() == [1, 1]


@pytest.mark.parametrize("text", ["", "fourier", "dct:3", "npy:", "means:1"])
def test_unknown_directions_are_refused(text):
    with pytest.raises(InputError, match="unknown directions"):
        as_directions(text, shape=SHAPE)


def test_gaussian_data_has_the_second_moment_of_other_data():
    digits = as_dataset("digits", split="train").samples.reshape(-1, 64)
    moment = digits.T @ digits / len(digits)
    data = as_dataset("gaussian:moment=digits,count=50000")
    assert data.shape == (1, 8, 8)
    samples = data.samples.reshape(-1, 64)
    # Entries of a sample covariance spread by at most sqrt(2 / count) of their scale; six of those.
    scale = np.sqrt(np.outer(np.diag(moment), np.diag(moment)))
    assert (np.abs(samples.T @ samples / len(samples) - moment) <= 0.04 * scale + 1e-9).all()
    assert data.law is not None
    white = as_dataset("gaussian,count=1000", shape=SHAPE)
    assert abs(white.samples.std() - 1) < 0.05


def test_splits_of_gaussian_data_share_nothing():
    first, second = (
        as_dataset("gaussian,count=5", shape=SHAPE, split=split).samples
        for split in ("train", "held-out")
    )
    assert not np.isclose(first, second).any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gaussian:3", "gaussian or gaussian:moment=DATA"),
        ("gaussian:moment=nothing", "unknown data"),
        ("gaussian", "does not say its shape: pass one"),
        ("gaussian,size=3", "no option 'size'"),
    ],
)
def test_gaussian_data_that_cannot_be_made(text, message):
    with pytest.raises(InputError, match=message):
        as_dataset(text)
