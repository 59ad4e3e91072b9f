"""One name for a family wherever it is met: the fingerprint is always of the adapted network."""

import dataclasses
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import sads
from sads.alignment import load_rotation
from sads.data import Dataset
from sads.diffusion import read_training
from sads.errors import InputError
from sads.networks import MLP, PRESETS, ScoreFamily, preset_family
from sads.path import Schedule
from sads.report.build import build_report
from sads.specs.rotations import rotation_for
from sads.sweep import Trial
from sads.sweep.describe.plan import Planned
from sads.sweep.describe.protocol import Protocol
from sads.sweep.execute.check_trials import check_trials

from .zoo import ADM, Conv, Flat, Keyword, Labelled, Preconditioned, Sampled

SHAPE = (2, 4, 4)
#: What artefacts written before `fingerprint` was a property hold.
STORED = {
    "iddpm-16": "d2c50ab4362f3047",
    "iddpm-mnist": "6f41495f31434af0",
    "iddpm-celeba": "ed5c6c0a067dd7e4",
    "iddpm-cifar10": "350140a6573efedf",
    "iddpm-1d": "f1fda05e3db573f5",
    "dit-2": "d45f750fd1499673",
    "dit-4": "22f14e1c3f205618",
    "mlp": "c86e66fa918edd91",
    "cnn": "a6222c12c25327d4",
    "vit": "ff762920ff54fa6b",
    "ssm": "e29cab838d1f3dfa",
    "linear": "a926c658b264df05",
}
FOREIGN = {
    "796c5059d9bf0aa0": ScoreFamily(Conv, SHAPE),
    "d31cce240e459dd7": ScoreFamily(Labelled, SHAPE),
    "e5734933458e96a1": ScoreFamily(Preconditioned, SHAPE),
    "e0ea93c8dcaa83c6": ScoreFamily(Conv, SHAPE, prediction="v"),
    "9f9542d2721bd6c2": ScoreFamily(Conv, SHAPE, Schedule("cosine", 500), prediction="x0"),
    "965f6fdc98453b23": ScoreFamily(Flat, (12,)),
    "a5c7ac86e5e9ad1a": ScoreFamily(ADM, SHAPE),
    "c3cd7993038b8d2b": ScoreFamily(partial(MLP, (6,)), (6,), prediction="v"),
}
FACTORIES = """
from types import SimpleNamespace

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.out = nn.Conv2d(4, 1, 3, padding=1)

    def forward(self, x, t):
        h = torch.tanh(self.stem(x) + 0.001 * t.view(-1, 1, 1, 1))
        return SimpleNamespace(sample=self.out(h))


def make():
    return Net()


def other():
    net = Net()
    net.more = nn.Parameter(torch.zeros(3))
    return net


def silent():
    net = Net()
    nn.init.zeros_(net.out.weight)
    nn.init.zeros_(net.out.bias)
    return net
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text(FACTORIES)
    return path


def geometry_of(source, **options):
    return sads.estimate_geometry(source, shape="1x4x4", networks=12, probe="gaussian:1", **options)


def train(source, **options):
    """A training of one step on a little data."""
    options = {"iterations": 1, "batch_size": 4} | options
    return sads.train(source, "gaussian,count=20", shape="1x4x4", **options)


@pytest.mark.parametrize("name", PRESETS)
def test_fingerprints_of_our_networks_stay(name):
    assert preset_family(name).fingerprint == STORED[name]


@pytest.mark.parametrize("stored", FOREIGN)
def test_fingerprints_of_foreign_networks_stay(stored):
    assert FOREIGN[stored].fingerprint == stored


def test_a_fingerprint_does_not_tell_how_an_output_is_wrapped():
    """Not the module that somebody wrote is named but the noise predictor that it becomes."""
    assert {ScoreFamily(f, SHAPE).fingerprint for f in (Conv, Sampled, Keyword)} == {
        "796c5059d9bf0aa0"
    }


@pytest.mark.parametrize(
    ("factory", "zero_output", "stored"),
    [(ADM, "last", "feaa8c8bffa46543"), (Preconditioned, "explain", "e5734933458e96a1")],
)
def test_fingerprints_in_geometries_stay(factory, zero_output, stored):
    geometry = sads.estimate_geometry(
        factory, shape=SHAPE, networks=12, probe="gaussian:1", zero_output=zero_output
    )
    assert geometry.plan.fingerprint == stored


def test_a_fingerprint_is_of_initialised_parameters():
    class Lazy(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.LazyLinear(6)

        def forward(self, x, t):
            return self.out(x)

    assert len(ScoreFamily(Lazy, (6,)).fingerprint) == 16


def test_a_fingerprint_is_made_once_and_leaves_the_global_state_alone():
    made = []
    family = ScoreFamily(lambda: made.append(0) or Conv(), SHAPE)
    state = torch.get_rng_state()
    first = family.fingerprint
    count = len(made)
    assert family.fingerprint == first
    assert len(made) == count
    assert torch.equal(torch.get_rng_state(), state)
    assert dataclasses.replace(family, shape=(2, 6, 6)).fingerprint != first


@pytest.mark.parametrize("factory", ["make", "make,prediction=v", "silent"])
def test_a_training_takes_the_geometry_of_its_network(file, tmp_path, factory):
    source = f"{file}:{factory}"
    geometry = geometry_of(source, zero_output="last")
    trained = train(source, rotation="min", geometry=geometry, out=tmp_path / "training")
    assert torch.isfinite(trained.losses).all()
    header, _ = read_training(tmp_path / "training")
    family = sads.network(source, shape="1x4x4")
    assert header.fingerprint == family.fingerprint
    assert geometry.plan.is_of(family)
    assert (geometry.plan.fingerprint == family.fingerprint) == (factory != "silent")


@pytest.mark.parametrize("factory", ["make", "silent"])
def test_a_training_takes_a_rotation_made_for_its_network(file, tmp_path, factory):
    source = f"{file}:{factory}"
    geometry_of(source, zero_output="last", out=tmp_path / "geometry")
    rotation = sads.rotate(tmp_path / "geometry", "gaussian,count=20", "min")
    rotation.save(tmp_path / "rotation")
    assert load_rotation(tmp_path / "rotation").origin == rotation.origin
    train(source, rotation=tmp_path / "rotation")
    trial = Trial(
        network=source,
        shape="1x4x4",
        data="gaussian",
        rotation=str(tmp_path / "rotation"),
        protocol=Protocol(),
        seed=0,
    )
    assert len(check_trials([Planned(trial.identity(), trial)])) == 1


@pytest.mark.parametrize("factory", ["make", "silent"])
def test_the_geometry_of_another_network_is_refused(file, factory):
    geometry = geometry_of(f"{file}:{factory}", zero_output="last")
    with pytest.raises(InputError, match=r"the geometry is that of .*net\.py:\w+ .* 1x4x4") as no:
        train(f"{file}:other", rotation="min", geometry=geometry)
    assert "--" not in str(no.value)
    with pytest.raises(InputError, match="the geometry is that of"):
        train("cnn", rotation="min", geometry=geometry)


@pytest.mark.parametrize("factory", ["make", "silent"])
def test_a_report_examines_foreign_networks(file, tmp_path, factory):
    geometry_of(f"{file}:{factory}", zero_output="last", out=tmp_path / "geometry")
    assert "Not examined" not in build_report([tmp_path / "geometry"], doctor=True).html


def test_what_is_refused_is_told_without_options_of_the_command_line(file, tmp_path):
    """A caller of Python has no command line; messages name keywords or neither."""
    source = f"{file}:make"
    geometry, other = geometry_of(source), geometry_of(source, seed=1)
    data = Dataset(np.random.default_rng(0).standard_normal((9, 1, 4, 4)).astype("f4"), "noise")
    rotation = rotation_for(sads.network(source, shape="1x4x4"), data, "min", geometry=geometry)
    refused = [
        {"geometry": geometry},
        {"rank": 1},
        {"rotation": rotation, "rank": 1},
        {"rotation": rotation, "geometry": other},
    ]
    for options in refused:
        with pytest.raises(InputError) as no:
            train(source, **options)
        assert "--" not in str(no.value)
        assert "\n" not in str(no.value)
    (tmp_path / "model.json").write_text('{"_class_name": "UNet2DModel"}')
    pytest.importorskip("diffusers")
    with pytest.raises(InputError, match="does not say its shape") as no:
        sads.network(f"diffusers:{tmp_path / 'model.json'}")
    assert "--" not in str(no.value)
