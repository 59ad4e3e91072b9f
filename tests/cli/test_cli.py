"""The command line as a user meets it: output, JSON, one-line errors with exit code 2."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from sads.cli import COMMANDS
from sads.errors import InputError

TINY = ["iddpm-16,channels=8,groups=8,mults=1x1", "--shape", "1x8x8"]


def test_json_has_what_it_promises(sads):
    code, out, _ = sads("geometry", *TINY, "--networks", "600", "--json")
    assert code == 0
    printed = json.loads(out)
    assert len(printed["eigenvalues"]) == len(printed["eigenvalue_errors"]) == 64
    assert printed["eigenvalues"] == sorted(printed["eigenvalues"], reverse=True)
    assert printed["networks"] == 600
    assert printed["structure"] == "channels"
    assert printed["precision"] == "float32"
    assert 0 < printed["whitened_error"] < 0.2
    assert printed["seconds"] > 0
    assert printed["bands"][0]["first"] == 0
    assert printed["bands"][-1]["last"] == 63
    for band in printed["bands"]:
        assert {"first", "last", "overlap", "certified"} <= band.keys()
        assert not band["certified"] or band["overlap"] >= 0.95
    levels = printed["resolution"]
    assert [level["index"] for level in levels] == list(range(64))  # no channels, no pairs
    for level in levels:
        assert level["index_low"] <= level["index"] <= level["index_high"]
        value = printed["eigenvalues"][level["index"]]
        assert level["eigenvalue_low"] <= value <= level["eigenvalue_high"]
    windows = sorted(level["window"] for level in levels)
    assert printed["resolution_worst"] == windows[-1]
    assert printed["resolution_median"] == windows[32]
    assert 0 < printed["resolution_worst"] < 63


def test_words_and_pictures(sads, tmp_path):
    code, out, _ = sads("geometry", *TINY, "--networks", "600", "--out", str(tmp_path / "run"))
    assert code == 0
    assert "whitened error" in out
    assert "Directions known to within ± " in out
    assert "certified" not in out
    picture = tmp_path / "directions.png"
    code, out, _ = sads("directions", str(tmp_path / "run"), "--png", str(picture))
    assert code == 0
    pixels = np.asarray(Image.open(picture).convert("L"))
    assert pixels.shape[1] > 1000
    assert pixels.std() > 20
    code, out, _ = sads("directions", str(tmp_path / "run"), "--json")
    printed = json.loads(out)
    assert printed["networks"] == 600
    assert {"resolution", "resolution_median", "resolution_worst", "bands"} <= printed.keys()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--estimator", "naive"],
        ["--weighting", "noise", "--timesteps", "100:200"],
        ["--probe", "gaussian:1", "--seed", "3"],
        ["--probe", "forward:digits"],
    ],
)
def test_options(sads, arguments):
    code, out, err = sads("geometry", *TINY, "--networks", "60", "--json", *arguments)
    assert (code, err) == (0, "")
    assert json.loads(out)["networks"] == 60


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["geometry", "iddpm-17"], "did you mean"),
        (["geometry"], "requires an argument"),
        (["geometry", "iddpm-16", "--nets", "5"], "--nets"),
        (["geometry", "iddpm-16", "--networks", "many"], "networks"),
        (["geometry", "iddpm-16", "--networks", "3"], "at least 12"),
        (["geometry", "iddpm-16", "--estimator", "best"], "best"),
        (["geometry", "iddpm-16", "--shape", "16"], "a U-Net takes CxHxW"),
        (["geometry", "iddpm-16", "--shape", "axb"], "a shape looks like"),
        (["geometry", "iddpm-16", "--shape", "1x13x13"], "cannot be halved"),
        (["geometry", "iddpm-16,zero_init=true"], "initialised to zero"),
        (["geometry", "dit-2,zero_init=true"], "initialised to zero"),
        (["geometry", "iddpm-16", "--probe", "point:nowhere.npy"], "no such file"),
        (["geometry", "iddpm-16", "--timesteps", "5"], "a range like"),
        (["geometry", "iddpm-16", "--out", "/proc/nowhere"], "cannot write"),
        (["geometry", "iddpm-16", "--timesteps", "²:5"], "a range like"),
        (["geometry", "iddpm-16", "--device", "meta"], "cpu or cuda"),
        (["geometry", "dit-2,shape=1"], "--shape"),
        (["geometry", "cnn", "--shape", "1x1000000x1000000"], "do not fit in memory"),
        (["train", "mlp", "--data", "digits,size=16", "--out", "x", "--device", "foo"], "device"),
        (["sample", "nowhere", "--count", "1", "--out", "x.npy"], "no training"),
        (["directions", "nowhere"], "no geometry"),
        (["explore"], "explore"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(sads, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = sads(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("sads: error: ")
    assert err.count("\n") == 1
    assert said in err


NOISY = """
import torch
from torch import nn
print("importing")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 3, padding=1)
    def forward(self, x, t):
        print("running")
        return self.layer(x)
def make():
    torch.manual_seed(0)
    print("making")
    return Net()
shared = Net()
def same():
    return shared
def odd():
    return nn.Identity()
def wrong():
    return nn.Conv2d(1, 1, 2)
"""


def test_a_network_that_prints_and_seeds_disturbs_nothing(sads, tmp_path):
    (tmp_path / "noisy.py").write_text(NOISY)
    where = [f"{tmp_path}/noisy.py:make", "--shape", "1x4x4"]
    code, out, err = sads(
        "geometry", *where, "--networks", "240", "--probe", "gaussian:1", "--json"
    )
    assert code == 0
    printed = json.loads(out)  # nothing else on standard output
    assert "making" in err
    # Were every network the same, G would have rank one.
    assert printed["eigenvalues"][-1] > 0.01 * printed["eigenvalues"][0]
    assert printed["readout"] == "convolution"


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("same", "makes the same network every time"),
        ("odd", "cannot take an input"),
        ("wrong", "cannot take an input"),
        ("mke", "did you mean make"),
        ("Net", "is a class, not a factory"),
        ("NOISE", "has no 'NOISE'"),
    ],
)
def test_bad_factories_are_one_line(sads, tmp_path, factory, said):
    (tmp_path / "noisy.py").write_text(NOISY)
    code, _, err = sads("geometry", f"{tmp_path}/noisy.py:{factory}", "--shape", "1x4x4", "--json")
    assert code == 2
    last = err.strip().splitlines()[-1]
    assert last.startswith("sads: error: ")
    assert said in last


def test_debug_shows_the_traceback(sads):
    with pytest.raises(InputError):
        sads("geometry", "iddpm-17", "--debug")


@pytest.mark.parametrize("command", ["geometry", "directions"])
def test_help_of_a_command_has_an_example(sads, command):
    code, out, _ = sads(command, "--help")
    assert code == 0
    assert f"Example: sads {command} " in out


def test_help_says_how_to_begin(sads):
    code, out, _ = sads("--help")
    assert code == 0
    assert "Example: sads summary iddpm-16" in out


def test_help_describes_every_command():
    # In a process of its own: other tests may have settled how wide this one's lines are.
    out = subprocess.run(
        [sys.executable, "-m", "sads", "--help"],
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [line.strip("│ ") for line in out.splitlines()]
    for name in (name for names in COMMANDS.values() for name in names):
        described = [line for line in lines if line.startswith(f"{name} ")]
        assert len(described) == 1, out
        assert len(described[0].split()) > 4


def test_the_installed_command_runs():
    done = subprocess.run(
        [sys.executable, "-m", "sads", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0.1.0"
