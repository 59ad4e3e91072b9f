"""What a network may be given as, and that nothing said about it is forgotten."""

import numpy as np
import pytest
from torch import nn

import sads
from sads.data import Dataset
from sads.diffusion import read_training
from sads.path import Schedule

SHORT = {"iterations": 2, "batch_size": 4, "learning_rate": 1e-3}
COSINE = Schedule("cosine", 500)
STRING = "tests.api.test_networks_taken:make"


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x, t):
        return self.layer(x) * (1 + t.view(-1, 1, 1, 1) / 1000)


def make() -> nn.Module:
    return Scaled()


@pytest.fixture
def data() -> Dataset:
    samples = np.random.default_rng(0).standard_normal((8, 1, 4, 4)).astype(np.float32)
    return Dataset(samples, "noise")


def test_a_family_is_trained_under_its_own_schedule(data, tmp_path):
    family = sads.ScoreFamily(Scaled, (1, 4, 4), schedule=COSINE)
    trained = sads.train(family, data, out=tmp_path, **SHORT)
    assert trained.family.schedule == COSINE
    header, _ = read_training(tmp_path)
    assert (header.schedule, header.steps) == ("cosine", 500)
    plain = sads.train(sads.ScoreFamily(Scaled, (1, 4, 4)), data, **SHORT)
    assert plain.losses.tolist() != trained.losses.tolist()


@pytest.mark.parametrize(
    "source",
    [STRING, make, sads.ScoreFamily(make, (1, 4, 4))],
    ids=["string", "callable", "family"],
)
@pytest.mark.parametrize("schedule", ["cosine", COSINE], ids=["name", "value"])
def test_a_schedule_is_a_name_or_a_value(source, schedule, data):
    expected = Schedule("cosine") if schedule == "cosine" else COSINE
    assert sads.network(source, shape=(1, 4, 4), schedule=schedule).schedule == expected
    trained = sads.train(source, data, shape="1x4x4", schedule=schedule, **SHORT)
    assert trained.family.schedule == expected
    geometry = sads.estimate_geometry(source, shape="1x4x4", schedule=schedule, networks=12)
    assert (geometry.plan.schedule, geometry.plan.steps) == (expected.kind, expected.steps)


def test_a_family_has_its_shape():
    family = sads.ScoreFamily(make, (1, 4, 4))
    assert sads.network(family, shape="1x4x4") is family
    with pytest.raises(sads.InputError, match=r"network takes samples of 1x4x4, not 1x8x8"):
        sads.network(family, shape="1x8x8")
    with pytest.raises(sads.InputError, match=r"1x4x4, not 3x4x4"):
        sads.estimate_geometry(family, shape=(3, 4, 4))


def test_a_family_has_its_prediction():
    family = sads.ScoreFamily(make, (1, 4, 4), prediction="v")
    assert sads.network(family, prediction="v") is family
    with pytest.raises(sads.InputError, match=r"predicts v, not x0"):
        sads.network(family, prediction="x0")


def test_a_prediction_beside_a_string_is_the_one_in_it():
    family = sads.network(STRING, shape="1x4x4", prediction="v")
    assert family.name == f"{STRING},prediction=v"
    assert family.fingerprint == sads.network(family.name, shape="1x4x4").fingerprint
    assert family.fingerprint != sads.network(STRING, shape="1x4x4").fingerprint
    with pytest.raises(sads.InputError, match="twice"):
        sads.network(f"{STRING},prediction=x0", shape="1x4x4", prediction="v")


def test_every_verb_takes_prediction_and_schedule(data):
    said = {"shape": "1x4x4", "prediction": "v", "schedule": "cosine"}
    *_, last = sads.running_estimates(make, networks=12, **said)
    assert last.plan.assumptions.prediction == "v"
    assert sads.diagnose(make, networks=12, **said).assumptions.prediction == "v"
    short = sads.PilotProtocol(steps=2, seeds=2, points=2, batch_size=4)
    ranked = sads.rank([make, STRING], data, pilot=short, **said)
    assert {entry.assumptions.prediction for entry in ranked.entries} == {"v"}
    assert sads.train(make, data, **said, **SHORT).assumptions.prediction == "v"
