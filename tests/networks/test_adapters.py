"""Modules as other people write them, called in one way."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from sads.errors import InputError, NetworkError
from sads.networks import ScoreFamily, UNet
from sads.networks.adapters import Adapted, adapt
from sads.networks.adapters.diffusers import CLASSES, diffusers_family
from sads.networks.isolation import seeded
from sads.path import Schedule

from .zoo import Conv, Keyword, Labelled, Pair, Preconditioned, Sampled

SCHEDULE = Schedule()
X = torch.randn(3, 2, 6, 6, generator=torch.Generator().manual_seed(0))
T = torch.tensor([1, 5, 900])


def adapted(network: nn.Module, prediction: str | None = None) -> nn.Module:
    return adapt(network, "mine", SCHEDULE, prediction).eval()


@pytest.mark.parametrize("kind", [Sampled, Pair, Keyword])
def test_outputs_and_calls_of_all_kinds_are_the_plain_one(kind):
    network = kind()
    plain = Conv()
    plain.load_state_dict(network.state_dict())
    with torch.no_grad():
        assert torch.equal(adapted(network)(X, T), plain(X, T))


def test_learned_variances_are_left_out():
    network = Conv(out=4)
    with torch.no_grad():
        assert torch.equal(adapted(network)(X, T), network(X, T)[:, :2])


def test_the_null_label_is_the_last_row():
    network = Labelled(classes=5)
    adapted(network)(X, T)
    assert network.seen.tolist() == [5, 5, 5]


class Oracle(nn.Module):
    """Knows the image; predicts what it is asked to."""

    def __init__(self, image, noise, what):
        super().__init__()
        self.image, self.noise, self.what = image, noise, what

    def forward(self, x, t):
        if self.what == "eps":
            return self.noise
        if self.what == "x0":
            return self.image
        abar = torch.from_numpy(SCHEDULE.abar)[t].view(-1, 1, 1, 1)
        return abar.sqrt() * self.noise - (1 - abar).sqrt() * self.image


@pytest.mark.parametrize("prediction", ["eps", "v", "x0"])
def test_predictions_are_converted_to_noise(prediction):
    """Against the definition: an oracle for each prediction gives back the noise in x_t."""
    rng = np.random.default_rng(0)
    image, noise = (torch.from_numpy(rng.standard_normal((3, 2, 6, 6))) for _ in range(2))
    abar = torch.from_numpy(SCHEDULE.abar)[T].view(-1, 1, 1, 1)
    noisy = abar.sqrt() * image + (1 - abar).sqrt() * noise
    network = adapted(Oracle(image, noise, prediction), prediction).double()
    torch.testing.assert_close(network(noisy, T), noise, rtol=1e-4, atol=1e-4)


class Denoiser(nn.Module):
    """Knows the image; checks that it sees the variance-exploding process."""

    def __init__(self, image, noise):
        super().__init__()
        self.image, self.noise = image, noise

    def forward(self, x, sigma):
        expected = self.image + sigma.view(-1, 1, 1, 1) * self.noise
        torch.testing.assert_close(x, expected, rtol=1e-4, atol=1e-4)
        return self.image


def test_a_module_that_takes_sigma_sees_the_exploding_process_and_denoises():
    rng = np.random.default_rng(0)
    image, noise = (torch.from_numpy(rng.standard_normal((3, 2, 6, 6))) for _ in range(2))
    abar = torch.from_numpy(SCHEDULE.abar)[T].view(-1, 1, 1, 1)
    noisy = abar.sqrt() * image + (1 - abar).sqrt() * noise
    network = adapted(Denoiser(image, noise)).double()
    assert network.prediction == "x0"
    torch.testing.assert_close(network(noisy, T), noise, rtol=1e-3, atol=1e-3)
    assert adapted(Preconditioned())(X, T).shape == X.shape


def test_networks_of_this_package_are_left_alone():
    network = UNet((1, 8, 8), channels=8, groups=4, mults=(1, 1))
    assert adapt(network, "ours", SCHEDULE) is network
    assert isinstance(adapt(network, "ours", SCHEDULE, "v"), Adapted)


@pytest.mark.parametrize(
    ("made", "message"), [(Conv, "the class Conv"), (3, "a int"), (None, "NoneType")]
)
def test_a_factory_must_return_a_module(made, message):
    with pytest.raises(NetworkError, match=message):
        ScoreFamily(lambda: made, (2, 6, 6)).member(0)


def test_unknown_predictions_are_refused():
    with pytest.raises(InputError, match="eps, v, x0"):
        adapted(Conv(), "w")


def test_a_factory_cannot_touch_or_fix_the_global_state():
    def careless():
        torch.manual_seed(7)
        np.random.seed(7)  # noqa: NPY002
        return torch.randn(3), np.random.standard_normal()  # noqa: NPY002

    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = seeded(careless, 1, "test"), seeded(careless, 2, "test")
    assert not torch.equal(first[0], second[0])
    assert first[1] != second[1]
    assert torch.equal(seeded(careless, 1, "test")[0], first[0])
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


def test_there_is_a_small_configuration_of_each_class():
    """They are called in `tests/networks/test_diffusers.py`."""
    folder = Path(__file__).resolve().parents[2] / "examples" / "diffusers"
    classes = {json.loads(p.read_text())["_class_name"] for p in folder.glob("*.json")}
    assert classes == set(CLASSES)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a JSON"),
        ("[]", "a JSON object"),
        ('{"_class_name": "UNet2DModl"}', "did you mean 'UNet2DModel'"),
        ("{}", "expected one of"),
        ('{"_class_name": "UNet2DModel", "in_channels": 3}', "give a shape"),
    ],
)
def test_configurations_that_cannot_be_used(tmp_path, content, message):
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        diffusers_family(path)


def test_a_missing_configuration_and_a_missing_extra_are_named(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text('{"_class_name": "UNet2DModel", "sample_size": 8}')
    with pytest.raises(InputError, match=r"did you mean config.json"):
        diffusers_family(tmp_path / "confg.json")
    monkeypatch.setitem(__import__("sys").modules, "diffusers", None)
    with pytest.raises(InputError, match=r"pip install 'sads\[diffusers\]'"):
        diffusers_family(tmp_path / "config.json", shape=(3, 8, 8))


def test_a_configuration_that_the_class_refuses_is_reported(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(
        '{"_class_name": "UNet2DModel", "sample_size": 8, "in_channels": 3, '
        '"block_out_channels": [7, 7], "down_block_types": ["DownBlock2D"]}'
    )
    with pytest.raises(InputError, match="cannot be built as UNet2DModel"):
        diffusers_family(path).member(0)
