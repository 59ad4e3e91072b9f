"""The summary on the command line."""

import json
import shlex

import pytest


def test_the_command_prints_the_table_and_json(sads):
    code, out, _ = sads("summary", "mlp,width=8,depth=1", "--shape", "1x4x4", "--networks", "24")
    assert code == 0
    assert "anisotropy" in out
    code, out, _ = sads(
        "summary", "cnn,width=8,depth=1", "--shape", "1x4x4", "--networks", "24", "--json"
    )
    assert code == 0
    values = json.loads(out)
    assert values["parameters"] == 225
    assert {"findings", "effective_directions", "places", "learned_last", "next"} <= {*values}
    code, _, err = sads("summary", "nothing-like-this")
    assert code == 2
    assert err.count("\n") == 1
    code, _, err = sads("summary", "mlp,width=8,depth=1", "--shape", "1x4x4", "--networks", "3")
    assert (code, err.count("\n")) == (2, 1)
    assert "at least 12 networks, got 3" in err


@pytest.mark.parametrize(
    "network", ["iddpm-16,channels=8,groups=8,mults=1x1", "mlp,width=8,depth=1"]
)
def test_the_next_command_works_as_it_stands(sads, monkeypatch, network):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = sads("summary", network, "--shape", "1x8x8", "--networks", "24")
    assert code == 0
    command = out.splitlines()[-1].strip()
    assert max(map(len, out.splitlines()[:-2])) <= 80
    assert command.startswith("sads ")
    code, out, err = sads(*shlex.split(command)[1:], "--networks", "24")
    assert code == 0, err
    assert out
