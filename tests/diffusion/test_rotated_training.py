"""Training on rotated data, and the way back."""

import numpy as np
import pytest
import torch

import sads
from sads import api
from sads.alignment import make_rotation
from sads.alignment.rotation import FILE as ROTATION
from sads.data import Dataset
from sads.diffusion import sample_chunks
from sads.errors import ArtefactError, InputError

NETWORK = "iddpm-16,channels=8,groups=8,mults=1x1"
SHAPE = (1, 4, 4)
SHORT = {"iterations": 3, "batch_size": 8, "shape": SHAPE}


@pytest.fixture(scope="module")
def geometry():
    return sads.estimate_geometry(NETWORK, shape=SHAPE, networks=600)


@pytest.fixture(scope="module")
def data():
    x = np.random.default_rng(0).normal(size=(40, *SHAPE)).astype(np.float32)
    return Dataset(x * np.linspace(0.2, 2, 4, dtype=np.float32), "noise")


def parameters(network):
    return torch.cat([p.flatten() for p in network.state_dict().values()])


@pytest.mark.parametrize("kind", ["min", "max", "random"])
@pytest.mark.parametrize("rank", [None, 2])
def test_a_rotated_training_is_a_training_on_rotated_data(geometry, data, tmp_path, kind, rank):
    turn = make_rotation(kind, geometry=geometry, data=data, rank=rank, seed=5)
    trained = api.train(
        NETWORK, data, rotation=kind, geometry=geometry, rank=rank, seed=5, out=tmp_path, **SHORT
    )
    turned = Dataset(turn(torch.from_numpy(data.samples)).numpy(), "turned")
    plain = api.train(NETWORK, turned, seed=5, **SHORT)
    assert torch.equal(parameters(trained.network), parameters(plain.network))
    loaded = api.load_trained(tmp_path)
    raw = torch.cat(
        list(sample_chunks(loaded.network, SHAPE, 5, loaded.family.schedule, steps=3, seed=1))
    )
    back = torch.from_numpy(api.sample(tmp_path, 5, steps=3, seed=1))
    torch.testing.assert_close(back, turn.inverse(raw))


def test_the_identity_is_no_rotation(data, tmp_path):
    api.train(NETWORK, data, rotation="identity", out=tmp_path, **SHORT)
    assert not (tmp_path / ROTATION).exists()
    again = api.train(NETWORK, data, out=tmp_path, **SHORT)
    assert len(again.losses) == 3


def test_another_rotation_is_another_training(geometry, data, tmp_path):
    api.train(NETWORK, data, rotation="min", geometry=geometry, out=tmp_path, **SHORT)
    before = (tmp_path / ROTATION).read_bytes()
    for changed in ({"rotation": "max", "geometry": geometry}, {}):
        with pytest.raises(ArtefactError, match=r"another training.*rotation was"):
            api.train(NETWORK, data, out=tmp_path, **changed, **SHORT)
    assert (tmp_path / ROTATION).read_bytes() == before
    more = api.train(
        NETWORK, data, rotation="min", geometry=geometry, out=tmp_path, **SHORT | {"iterations": 5}
    )
    assert len(more.losses) == 5


def test_a_lost_or_changed_rotation_is_noticed(geometry, data, tmp_path):
    api.train(NETWORK, data, rotation="min", geometry=geometry, out=tmp_path, **SHORT)
    make_rotation("random", shape=SHAPE).save(tmp_path)
    with pytest.raises(ArtefactError, match=r"another rotation than it was trained with"):
        api.sample(tmp_path, 3, steps=2)
    (tmp_path / ROTATION).unlink()
    with pytest.raises(ArtefactError, match=r"no rotation in"):
        api.sample(tmp_path, 3, steps=2)


def test_a_rotation_in_the_directory_of_a_plain_training_is_ignored(data, tmp_path):
    make_rotation("random", shape=SHAPE).save(tmp_path)
    api.train(NETWORK, data, out=tmp_path, **SHORT)
    loaded = api.load_trained(tmp_path)
    raw = torch.cat(list(sample_chunks(loaded.network, SHAPE, 3, loaded.family.schedule, steps=2)))
    assert torch.equal(torch.from_numpy(api.sample(tmp_path, 3, steps=2)), raw)


def test_rotations_of_other_networks_and_geometries_are_refused(geometry, data, tmp_path):
    make_rotation("min", geometry=geometry, data=data).save(tmp_path / "turn")
    wide = "iddpm-16,channels=16,groups=8,mults=1x1"
    run = {"out": tmp_path / "run"} | SHORT
    with pytest.raises(InputError, match=r"made for the geometry of iddpm-16.*not of iddpm-16"):
        api.train(wide, data, rotation=tmp_path / "turn", **run)
    with pytest.raises(
        InputError, match=r"the geometry is that of .* make a geometry of this network"
    ):
        api.train(wide, data, rotation="min", geometry=geometry, **run)
    fresh = sads.estimate_geometry(NETWORK, shape=SHAPE, networks=600, seed=9)
    with pytest.raises(InputError, match=r"made for another geometry"):
        api.train(NETWORK, data, rotation=tmp_path / "turn", geometry=fresh, **run)
    with pytest.raises(InputError, match=r"samples of shape \(1, 2, 2\)"):
        api.train(NETWORK, data, rotation=make_rotation("random", shape=(1, 2, 2)), **run)
    with pytest.raises(InputError, match=r"has its rank already"):
        api.train(NETWORK, data, rotation=tmp_path / "turn", rank=2, **run)
    with pytest.raises(InputError, match=r"needs a geometry and data"):
        api.train(NETWORK, data, rotation="min", **run)
    with pytest.raises(InputError, match=r"belong to a rotation"):
        api.train(NETWORK, data, geometry=geometry, **run)
    assert not (tmp_path / "run").exists()


def test_a_random_rotation_fits_any_network(data, tmp_path):
    make_rotation("random", shape=SHAPE).save(tmp_path)
    trained = api.train("mlp,width=8", data, rotation=tmp_path, **SHORT)
    assert len(trained.losses) == 3
