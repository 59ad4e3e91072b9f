"""Other people's networks as a user meets them: what is assumed, what is refused, in one line."""

import json
import resource
import subprocess
import sys

import pytest

from sads.networks.adapters import Assumptions

NETWORKS = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.last = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x, labels):
        shift = 0.001 * labels.to(x.dtype).view(-1, 1, 1, 1)
        return self.last(torch.tanh(self.first(x) + shift))


class VelocityNet(Net):
    def forward(self, x, t: float):
        return super().forward(x, t)


class Pooled(Net):
    def forward(self, hidden_states, pooled_projections=None, timestep=None):
        return super().forward(hidden_states + pooled_projections.mean(), timestep)


class Score(Net):
    def forward(self, x, t):
        return super().forward(x, t) / (5000.0 ** t.float()).view(-1, 1, 1, 1)


def make():
    return Net()


def velocity():
    return VelocityNet()


def pooled():
    return Pooled()


def score():
    return Score()
"""
TAKEN = "Taken as: noise prediction (eps), linear schedule with 1000 steps, time passed as `labels`"


@pytest.fixture
def nets(tmp_path, monkeypatch):
    (tmp_path / "nets.py").write_text(NETWORKS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_first_line_of_every_result_says_what_is_assumed(sads, nets):
    small = ["--shape", "1x8x8"]
    data = ["--data", "digits,size=8"]
    commands = [
        ["geometry", "nets.py:make", *small, "--networks", "24", "--out", "run"],
        ["directions", "run"],
        ["align", "run", *data],
        ["report", "run", "--out", "report.html"],
        ["train", "nets.py:make", *small, *data, "--iterations", "2", "--out", "trained"],
        ["sample", "trained", "--count", "2", "--steps", "2", "--out", "samples.npy"],
    ]
    for command in commands:
        code, out, err = sads(*command)
        assert (code, err) == (0, ""), command
        assert out.startswith(TAKEN), command
    assert TAKEN.replace("`", "") in (nets / "report.html").read_text()
    for command in (commands[1], commands[2]):
        printed = json.loads(sads(*command, "--json")[1])
        assert printed["assumptions"]["time"] == "labels"


def test_networks_that_are_called_differently_are_told_apart_in_a_ranking(sads, nets):
    networks = ["nets.py:make", "cnn,width=8,depth=1"]
    arguments = [*networks, "--data", "digits", "--shape", "1x8x8", "--steps", "2", "--seeds", "2"]
    code, out, _ = sads("rank", *arguments)
    assert code == 0
    first = out.splitlines()[:2]
    assert sorted(line.partition(" is taken as: ")[0] for line in first) == sorted(networks)
    assumptions = json.loads(sads("rank", *arguments, "--json")[1])["assumptions"]
    assert {name: assumptions[name]["time"] for name in networks} == dict(
        zip(networks, ["labels", "t"], strict=True)
    )


def test_the_doctor_says_what_is_assumed(sads, nets):
    arguments = ["doctor", "nets.py:make", "--shape", "1x8x8", "--networks", "12"]
    code, out, _ = sads(*arguments)
    assert (code, out.startswith(TAKEN)) == (0, True)
    assert json.loads(sads(*arguments, "--json")[1])["assumptions"]["time"] == "labels"


def test_a_dry_run_says_everything_and_estimates_nothing(sads, nets):
    arguments = ["geometry", "nets.py:velocity", "--shape", "1x8x8", "--dry-run", "--out", "run"]
    code, out, err = sads(*arguments)
    assert (code, err) == (0, "")
    first = out.splitlines()[0]
    assert "looks like a flow-matching network (`velocity`)" in first
    assert "write `prediction=flow` after its name" in first
    for said in ("integrated exactly", "Features in float32", "64 x 64 entries", "GiB", "Nothing"):
        assert said in out
    assert not (nets / "run").exists()
    printed = json.loads(sads(*arguments, "--json")[1])
    assert Assumptions(**printed["assumptions"]).time == "t"
    assert (printed["rows"], printed["readout"], printed["precision"]) == (
        64,
        "convolution",
        "float32",
    )
    assert 0 < printed["memory_bytes"] < printed["memory_available"]
    code, out, _ = sads(*arguments, "--estimator", "naive")
    assert "plain outputs are sampled: the estimator is naive" in out
    assert "no network will be drawn" in sads("geometry", "dit-2", "--dry-run")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["nets.py:pooled", "--shape", "1x8x8"],
            '"pooled_projections": x.new_zeros(len(x), 1)',
        ),
        (["nets.py:score", "--shape", "1x8x8"], "finite from `pow` on"),
        (
            ["iddpm-cifar10", "--shape", "3x256x256", "--networks", "12", "--subspace", "full"],
            "1,200.0 GiB",
        ),
        (["nets.py:make", "--shape", "1x40000x40000"], "GiB are available"),
        (["mlp", "--shape", "1x40000x40000"], "GiB are available"),
        (["dit-2", "--shape", "1x40000x40000"], "GiB are available"),
        (["iddpm-16", "--shape", "3x100000x100000"], "choose a smaller shape"),
        (
            [
                "nets.py:make",
                "--shape",
                "1x1024x1024",
                "--estimator",
                "naive",
                "--subspace",
                "full",
            ],
            "1,048,576 x",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(sads, nets, arguments, said):
    code, out, err = sads("geometry", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("sads: error: ")
    assert err.count("\n") == 1
    assert said in err
    assert "initialised to zero" not in err


def test_training_a_network_that_cannot_be_called_is_refused_in_one_line(sads, nets):
    arguments = ["nets.py:pooled", "--shape", "1x8x8", "--data", "digits", "--out", "trained"]
    code, _, err = sads("train", *arguments)
    assert code == 2
    assert '"pooled_projections": x.new_zeros(len(x), 1)' in err
    assert err.count("\n") == 1


HUNGRY = """
from torch import nn
import torch
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 1)
    def forward(self, x, t):
        return self.layer(x) + torch.ones(2**40).sum()
def make():
    return Net()
"""


def test_memory_that_runs_out_inside_a_network_is_one_line_under_a_limit(tmp_path):
    (tmp_path / "hungry.py").write_text(HUNGRY)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))

    done = subprocess.run(
        [sys.executable, "-m", "sads", "geometry", "hungry.py:make", "--shape", "1x4x4"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited,
    )
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]  # lines of progress may come before, on a slow machine
    assert last.startswith("sads: error: ")
    assert "ran out of memory" in last
    assert "Traceback" not in done.stderr
