"""`sads forecast` as a user meets it."""

import json
import subprocess
import sys

import numpy as np
import pytest

NETWORK = "cnn,width=8,depth=2"
COMMON = ("--shape", "1x4x4", "--networks", "8", "--data", "gaussian")
BARE = """
import torch
class Bare(torch.nn.Module):
    def forward(self, x, t):
        return 2 * x
class Opaque(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(()))
    def forward(self, x, t):
        return torch.from_numpy((self.weight * x).detach().numpy())
def bare():
    return Bare()
def opaque():
    return Opaque()
"""


def test_in_words_json_and_a_picture(sads, tmp_path):
    picture, out = tmp_path / "forecast.png", tmp_path / "out"
    code, said, err = sads("forecast", NETWORK, *COMMON, "--png", str(picture), "--out", str(out))
    assert (code, err) == (0, "")
    assert "Learned early" in said or "no order to forecast" in said
    assert "8 fresh networks" in said
    assert picture.read_bytes().startswith(b"\x89PNG")
    code, said, err = sads("forecast", NETWORK, *COMMON, "--out", str(out), "--json")
    assert (code, err) == (0, "")
    told = json.loads(said)
    assert told["networks"] == 8
    expected = {"direction", "width", "band", "eigenvalue"}
    expected |= {"drift", "drift_error", "noise", "noise_error"}
    assert all(set(row) == expected for row in told["directions"])
    code, _, err = sads("forecast", NETWORK, *COMMON, "--png", str(picture))
    assert code == 2
    assert "--force" in err


@pytest.mark.parametrize("method", ["one step", "tangent flow", "pilot"])
@pytest.mark.parametrize("optimiser", ["adamw", "sgd"])
def test_every_method_and_optimiser(sads, method, optimiser):
    code, said, _ = sads(
        "forecast", NETWORK, *COMMON, "--json", "--method", method, "--optimiser", optimiser,
        "--weight-decay", "0.01", "--warm-up", "5", "--steps", "8", "--batch-size", "8",
        "--directions", "dct:bands=3", "--loss-weights", "min-snr:5",
        "--timestep-law", "logit-normal:0,1",
    )  # fmt: skip
    assert code == 0
    told = json.loads(said)
    assert told["method"] == method
    assert told["recipe"]["optimiser"] == optimiser
    assert all(np.isfinite(row["drift"]) for row in told["directions"])


def test_large_samples_need_no_large_matrix(sads):
    for directions in ("means", "dct:bands=3"):
        code, said, _ = sads(
            "forecast", "cnn,width=4,depth=1", "--shape", "3x256x256", "--data", "gaussian",
            "--directions", directions, "--networks", "8", "--batch-size", "2", "--json",
        )  # fmt: skip
        assert code == 0
        assert len(json.loads(said)["directions"]) == 3


def test_large_samples_need_little_memory():
    """A matrix of D x D entries would have 38 billion of them here; activations are what it takes.

    The bound is twice what was measured. The kernel's own peak is read: `getrusage` would give that
    of the process that started this one where it was larger.
    """
    script = (
        "import sads\n"
        "sads.forecast('cnn,width=4,depth=1', 'gaussian', shape='3x256x256', directions='means',"
        " networks=8, batch_size=2, method='one step')\n"
        "lines = open('/proc/self/status').read().splitlines()\n"
        "print(next(line.split()[1] for line in lines if line.startswith('VmHWM')))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1.2 * 2**20  # kilobytes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--networks", "2"), "at least 8 networks"),
        (("--directions", "npy:wrong.npy"), "columns of 16 entries"),
        (("--directions", "dct:bands=0"), "1 to 16"),
        (("--directions", "fourier"), "unknown directions"),
        (("--optimiser", "adam", "--weight-decay", "0.1"), "adamw"),
        (("--batch-size", "0"), "at least one sample"),
        (("--learning-rate", "0"), "positive"),
        (("--steps", "0"), "at least one step"),
        (("--tolerance", "0"), "positive"),
        (("--timestep-law", "beta"), "unknown law of timesteps"),
        (("--loss-weights", "npy:wrong.npy"), "1000 entries"),
        (("--data", "digits,size=3"), "1x4x4"),
    ],
)
def test_bad_input_is_one_line(sads, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    np.save("wrong.npy", np.ones((9, 2)))
    given = dict(zip(COMMON[::2], COMMON[1::2], strict=True))
    given |= dict(zip(arguments[::2], arguments[1::2], strict=True))
    words = [word for pair in given.items() for word in pair]
    code, said, err = sads("forecast", NETWORK, *words)
    assert (code, said) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("factory", "message"),
    [("bare", "no parameters that need gradients"), ("opaque", "cannot be differentiated")],
)
def test_networks_that_cannot_be_trained_are_refused(sads, tmp_path, factory, message):
    file = tmp_path / "bare.py"
    file.write_text(BARE)
    code, _, err = sads("forecast", f"{file}:{factory}", *COMMON)
    assert code == 2
    assert message in err
