"""Every finding about single networks, with the defect planted and without it."""

import json

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import sads
from sads.doctor import diagnose
from sads.doctor.findings import RESPONSES
from sads.doctor.findings.blindness import time_blind
from sads.doctor.findings.borders import padding_only
from sads.doctor.findings.saturation import most_saturated
from sads.doctor.findings.training import zero_output
from sads.doctor.patient import admit
from sads.errors import NetworkError
from sads.networks.family import unseeded_member
from tests.doctor.patients import family
from tests.zoo import PATTERNS


def codes(defect: str) -> set[str]:
    patient = admit(family(defect))
    return {finding.code for check in RESPONSES for finding in check(patient)}


def test_a_healthy_network_has_no_findings():
    assert codes("") == set()


@pytest.mark.parametrize(
    ("defect", "code"),
    [
        ("zero head", "zero-output"),
        ("input unused", "input-blind"),
        ("blind to time", "time-blind"),
        ("starts blind to time", "time-blind-at-init"),
        ("input normalised", "constant-blind"),
        ("input centred", "constant-blind"),
        ("padded", "padding-only"),
        ("saturated", "saturated"),
    ],
)
def test_a_planted_defect_is_found_and_nothing_else(defect, code):
    # A norm of every channel on its own removes the image's mean as well as the time.
    extra = {"constant-blind"} if defect == "blind to time" else set()
    assert codes(defect) - extra == {code}


@pytest.mark.parametrize("defect", ["norm of groups", "tanh"])
def test_what_looks_like_a_defect_and_is_none(defect):
    assert codes(defect) == set()


def test_the_mean_and_the_amplitude_are_told_apart():
    def said(defect: str) -> str:
        patient = admit(family(defect))
        return " ".join(f.evidence for check in RESPONSES for f in check(patient))

    assert "mean" in said("input centred")
    assert "amplitude" not in said("input centred")
    assert "amplitude" in said("input normalised")


def test_the_layer_that_zeroes_the_output_is_named():
    patient = admit(family("zero head"))
    assert patient.silence is not None
    assert patient.silence.layers == ("head",)
    (finding, *_) = [f for check in RESPONSES for f in check(patient)]
    assert "head" in finding.evidence
    assert finding.severity == "note"
    assert "zero_output='last'" in finding.suggestion


@pytest.mark.parametrize(
    ("name", "layer"),
    [("zero weight, random bias", "head"), ("zero gain before the last layer", "gamma")],
)
def test_an_output_of_nothing_but_biases_is_a_zero_output(name, layer):
    (pattern,) = [p for p in PATTERNS if p.name == name]
    (finding, *_) = list(zero_output(admit(pattern.family)))
    assert finding.code == "zero-output"
    assert f"only biases reach the output, weights do not; zero at the start: {layer}" in (
        finding.evidence
    )


def test_a_checkpoint_function_of_one_s_own_is_examined():
    (pattern,) = [p for p in PATTERNS if p.name == "checkpointed, zero output"]
    patient = admit(pattern.family)
    assert patient.silence is not None
    assert patient.silence.layers == ("head",)


@pytest.mark.parametrize("name", ["iddpm-16", "iddpm-mnist", "iddpm-celeba", "iddpm-cifar10"])
def test_the_papers_u_nets_are_time_blind(name):
    items = list(time_blind(admit(sads.network(name))))
    assert [f.code for f in items] == ["time-blind"]
    assert "use groups=8" in items[0].suggestion


@pytest.mark.parametrize("name", ["iddpm-16,groups=8", "iddpm-16,channels=64", "mlp", "cnn"])
def test_others_see_the_time(name):
    assert list(time_blind(admit(sads.network(name)))) == []


@pytest.mark.parametrize("name", ["UNet2DModel", "UNet2DConditionModel"])
@pytest.mark.parametrize("channels", [64, 128])
def test_diffusers_u_nets_of_64_channels_see_the_time(name, channels, tmp_path):
    kind = "CrossAttn" if name == "UNet2DConditionModel" else "Attn"
    path = tmp_path / "unet.json"
    path.write_text(
        json.dumps(
            {
                "_class_name": name,
                "sample_size": 8,
                "in_channels": 1,
                "out_channels": 1,
                "block_out_channels": [channels, channels],
                "layers_per_block": 1,
                "down_block_types": ["DownBlock2D", f"{kind}DownBlock2D"],
                "up_block_types": [f"{kind}UpBlock2D", "UpBlock2D"],
            }
        )
    )
    assert list(time_blind(admit(sads.network(f"diffusers:{path}")))) == []


def test_a_dit_is_time_blind_at_the_start_only():
    items = list(time_blind(admit(sads.network("dit-2"))))
    assert [f.code for f in items] == ["time-blind-at-init"]


def test_padding_is_found_although_norms_multiply_rounding():
    assert [f.code for f in padding_only(admit(sads.network("iddpm-16")))] == ["padding-only"]
    assert list(padding_only(admit(sads.network("mlp")))) == []


def test_examination_leaves_the_network_as_it_was():
    patient = admit(sads.network("iddpm-16"))
    before = {n: p.clone() for n, p in patient.start.state_dict().items()}
    eps = [m.eps for m in patient.start.modules() if isinstance(m, nn.GroupNorm)]
    for check in RESPONSES:
        list(check(patient))
    assert all(torch.equal(before[n], p) for n, p in patient.start.state_dict().items())
    assert eps == [m.eps for m in patient.start.modules() if isinstance(m, nn.GroupNorm)]
    modes = {m.padding_mode for m in patient.start.modules() if isinstance(m, nn.Conv2d)}
    assert modes == {"zeros"}


def normalised() -> nn.Module:
    """Keeps a tensor that is computed from parameters, as a copy may not."""
    network = unseeded_member(family())
    network.kept = next(network.parameters()) * 2
    return network


def test_a_network_that_cannot_be_copied_is_examined():
    patient = admit(sads.network(normalised, shape=family().shape))
    assert {finding.code for check in RESPONSES for finding in check(patient)} == set()


@pytest.mark.parametrize(
    ("function", "scale", "share"),
    [
        (torch.tanh, 1e-2, 0.0),
        (torch.tanh, 1e4, 1.0),
        (lambda x: x.sigmoid(), 1e4, 1.0),
        (lambda x: F.hardtanh(x), 1e4, 1.0),
        (lambda x: x.clamp(-1, 1), 1e-2, 0.0),
        (lambda x: F.softmax(x, dim=-1), 1e5, 1.0),
        (lambda x: F.softmax(x, dim=-1), 1e-2, 0.0),
        (nn.Sigmoid(), 1e-2, 0.0),
        (lambda x: x.clamp(-1, max=1), 1e4, 1.0),
        (lambda x: torch.clamp(x, min=-1, max=1), 1e4, 1.0),
    ],
)
def test_saturation_of_functions(function, scale, share):
    x = scale * torch.linspace(-1, 1, 100).view(10, 10) + 0.5 * scale / 100
    saturation = most_saturated(lambda: function(x))
    assert saturation is not None
    assert saturation.share == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(
    "function",
    [
        F.silu,
        lambda x: x.clamp(min=0),  # a ReLU
        lambda x: torch.clamp(x, 1e-8),  # a guard
        lambda x: x.clamp(min=None, max=1),
        lambda x: x[:, :1].softmax(dim=-1),  # attention to a single key
        lambda x: F.softmax(x[:, :1], 1),
    ],
)
def test_functions_that_are_not_bounded_do_not_saturate(function):
    assert most_saturated(lambda: function(-1e4 * torch.ones(3, 2))) is None


class Sigma(nn.Module):
    """Takes a noise level and ignores it; its input is scaled by the convention."""

    def __init__(self, sees: bool):
        super().__init__()
        self.sees = sees
        self.stem, self.head = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x: torch.Tensor, sigma: torch.Tensor) -> torch.Tensor:
        h = F.silu(self.stem(x))
        return self.head(h * sigma.view(-1, 1, 1, 1).to(h) if self.sees else h)


def test_what_the_convention_scales_by_time_is_not_the_network():
    blind, seeing = (
        admit(sads.network(lambda sees=sees: Sigma(sees), shape=(1, 8, 8)))
        for sees in (False, True)
    )
    assert [f.code for f in time_blind(blind)] == ["time-blind"]
    assert list(time_blind(seeing)) == []


class TakesSamplesForChannels(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x, t):
        return self.layer(x)


def test_a_network_that_takes_one_sample_only_is_refused_in_words():
    one_by_one = sads.network(TakesSamplesForChannels, shape=(1, 8))
    with pytest.raises(NetworkError, match="failed in a call with 4 samples: RuntimeError"):
        diagnose(one_by_one, networks=12)
