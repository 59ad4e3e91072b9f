"""A trained network in memory and on disk are the same thing."""

import numpy as np
import pytest
import torch

import sads
from sads.diffusion import read_training

NETWORK = "mlp,width=8,depth=1"
SHORT = {"shape": "1x4x4", "iterations": 3, "batch_size": 4, "learning_rate": 1e-3}
DATA = "rank-one:dct:3,count=20"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trained")


@pytest.fixture(scope="module")
def trained(folder):
    return sads.train(NETWORK, DATA, rotation="random", out=folder / "run", **SHORT)


def test_samples_are_one_array(trained):
    samples = sads.sample(trained, 5, steps=2, seed=1)
    assert (samples.shape, samples.dtype) == ((5, 1, 4, 4), np.float32)
    assert isinstance(samples, np.ndarray)


def test_a_network_in_memory_is_sampled_like_its_directory(trained, folder):
    expected = sads.sample(folder / "run", 5, steps=2, seed=1)
    np.testing.assert_array_equal(sads.sample(trained, 5, steps=2, seed=1), expected)
    chunks = list(sads.sample_chunks(trained, 5, steps=2, seed=1, chunk=2))
    assert [len(chunk) for chunk in chunks] == [2, 2, 1]
    np.testing.assert_allclose(np.concatenate(chunks), expected, rtol=1e-4, atol=1e-5)


def test_what_is_saved_is_what_training_would_have_written(trained, folder):
    in_memory = sads.train(NETWORK, DATA, rotation="random", **SHORT)
    in_memory.save(folder / "saved")
    header, tensors = read_training(folder / "saved")
    expected_header, expected = read_training(folder / "run")
    same = {"seconds": 0.0}
    assert header.model_copy(update=same) == expected_header.model_copy(update=same)
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in tensors)
    loaded = sads.load_trained(folder / "saved")
    assert loaded.rotation is not None
    np.testing.assert_array_equal(sads.sample(loaded, 3, steps=2), sads.sample(trained, 3, steps=2))


def test_a_saved_training_goes_on_bit_for_bit(folder):
    whole = sads.train(NETWORK, DATA, **SHORT | {"iterations": 6})
    sads.train(NETWORK, DATA, **SHORT).save(folder / "half")
    rest = sads.train(NETWORK, DATA, out=folder / "half", **SHORT | {"iterations": 6})
    assert rest.losses.tolist() == whole.losses.tolist()
    loaded = sads.load_trained(folder / "half")
    assert loaded.losses.tolist() == whole.losses.tolist()
    loaded.save(folder / "copy")
    assert read_training(folder / "copy")[0] == read_training(folder / "half")[0]


def test_another_training_is_not_replaced(trained, folder):
    other = sads.train(NETWORK, DATA, **SHORT | {"seed": 1})
    with pytest.raises(sads.ArtefactError, match="another training"):
        other.save(folder / "run")


def test_distance_is_a_value():
    far = sads.distance(DATA, DATA.replace("3", "5"), shape="1x4x4", projections=16)
    assert far.projections == 16
    assert far.to_dict()["sw2"] == far.sw2 > 0
    assert far.w2_direction is not None


def test_arrays_are_data(trained):
    samples = sads.sample(trained, 8, steps=2)
    assert sads.distance(samples, samples, projections=4).sw2 == 0
    again = sads.train(NETWORK, samples, **SHORT)
    assert len(again.losses) == 3
    assert sads.risk(trained, data=samples, tolerance=0.5).total > 0
