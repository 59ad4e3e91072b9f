"""The doctor on the command line."""

import json
from contextlib import contextmanager
from xml.etree import ElementTree

import pytest


def test_words_and_json(sads):
    code, out, err = sads("doctor", "mlp,width=16", "--shape", "1x4x4", "--networks", "24")
    assert (code, err) == (0, "")
    assert "nothing found" in out
    code, out, _ = sads(
        "doctor",
        "iddpm-16,channels=8,groups=8,mults=1",
        "--shape",
        "1x4x4",
        "--networks",
        "96",
        "--json",
    )
    assert code == 0
    printed = json.loads(out)
    keys = {"code", "severity", "evidence", "meaning", "suggestion", "usual", "worth"}
    assert all(set(one) == keys for one in printed["findings"])
    assert "time-blind" in [one["code"] for one in printed["findings"]]


LOUD = """
from torch import nn
print("imported")

class Loud(nn.Module):
    def __init__(self):
        super().__init__()
        print("made")
        self.out = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x, t):
        print("called")
        return self.out(x)

def make():
    return Loud()

def fails():
    raise KeyError("width")

def leaves():
    raise SystemExit(0)
"""


def test_what_a_network_prints_is_no_result(sads, tmp_path):
    (tmp_path / "loud.py").write_text(LOUD)
    network = f"{tmp_path / 'loud.py'}:make"
    code, out, err = sads("doctor", network, "--shape", "1x4x4", "--networks", "24", "--json")
    assert code == 0
    assert json.loads(out)["network"] == network
    assert "imported" in err


@pytest.mark.parametrize("factory", ["fails", "leaves"])
@pytest.mark.parametrize("command", ["doctor", "train"])
def test_factories_that_fail_are_one_line(sads, tmp_path, command, factory):
    (tmp_path / "loud.py").write_text(LOUD)
    more = ("--data", "rank-one:dct:0", "--out", str(tmp_path / "out"))
    more = more if command == "train" else ()
    network = f"{tmp_path / 'loud.py'}:{factory}"
    code, out, err = sads(command, network, "--shape", "1x4x4", *more)
    assert (code, out) == (2, "")
    assert f"the factory of {network} failed" in err.splitlines()[-1]


def test_unknown_networks_are_one_line(sads):
    code, out, err = sads("doctor", "iddpm-17")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


SMALL = ("doctor", "mlp,width=16", "--shape", "1x4x4")


@pytest.mark.parametrize("networks", ["0", "-5", "11"])
def test_too_few_networks_are_refused(sads, networks):
    code, out, err = sads(*SMALL, "--networks", networks)
    assert (code, out) == (2, "")
    assert err == f"sads: error: the doctor needs at least 12 networks, got {networks}\n"


@pytest.mark.parametrize("seed", ["-1", str(2**63), str(10**30)])
def test_a_seed_out_of_range_is_one_line(sads, seed):
    code, out, err = sads(*SMALL, "--networks", "12", "--seed", seed)
    assert (code, out) == (2, "")
    assert err.startswith("sads: error: ")
    assert err.endswith(f"a seed is a whole number from 0 to 2^63 - 1, got {seed}\n")
    assert err.count("\n") == 1


def test_the_largest_seed_is_one(sads):
    code, _, err = sads(*SMALL, "--networks", "12", "--seed", str(2**63 - 1))
    assert (code, err) == (0, "")


def test_stages_are_shown(sads, monkeypatch):
    shown = []

    @contextmanager
    def waiting(title):
        shown.append(title)
        yield shown.append

    monkeypatch.setattr("sads.cli.progress.waiting", waiting)
    code, _, _ = sads(*SMALL, "--networks", "12")
    assert code == 0
    assert shown == [
        "examining mlp,width=16",
        "a few steps of training",
        "geometry at gaussian:1",
        "geometry at zero",
        "spectra",
    ]


BLIND = ("iddpm-16,channels=8,groups=8,mults=1", "--shape", "1x4x4", "--networks", "48")


def test_severities_make_the_exit_code(sads):
    assert sads("doctor", *BLIND)[0] == 0
    assert sads("doctor", *BLIND, "--fail-on", "error")[0] == 0
    code, out, _ = sads("doctor", *BLIND, "--fail-on", "warning")
    assert code == 1
    assert "WARNING time-blind" in out


def test_continuous_integration_gets_a_file(sads, tmp_path):
    path = tmp_path / "doctor.xml"
    for _ in range(2):  # every run makes it again
        assert sads("doctor", *BLIND, "--junit", str(path))[0] == 0
    suite = ElementTree.parse(path).getroot()
    failed = {c.get("name"): c.find("failure") for c in suite if c.find("failure") is not None}
    assert (suite.tag, int(suite.get("failures"))) == ("testsuite", len(failed))
    assert "cannot learn to depend on the noise level" in failed["time-blind"].get("message")
    assert "To do: " in failed["time-blind"].text
    passed = [case.get("name") for case in suite if case.find("failure") is None]
    assert passed  # the notes
    code, _, err = sads("doctor", *BLIND, "--junit", str(tmp_path / "no" / "doctor.xml"))
    assert code == 2
    assert "there is no directory" in err


def test_a_healthy_network_has_one_test_that_passes(sads, tmp_path):
    path = tmp_path / "doctor.xml"
    network = ("mlp,width=16", "--shape", "1x4x4", "--networks", "24")
    assert sads("doctor", *network, "--junit", str(path), "--fail-on", "note")[0] == 0
    (case,) = ElementTree.parse(path).getroot()
    assert (case.get("name"), len(case)) == ("healthy", 0)
