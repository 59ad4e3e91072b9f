"""The doctor on the command line."""

import json


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
    found = json.loads(out)
    keys = {"code", "severity", "evidence", "meaning", "suggestion"}
    assert all(set(one) == keys for one in found["findings"])
    assert "time-blind" in [one["code"] for one in found["findings"]]


def test_unknown_networks_are_one_line(sads):
    code, out, err = sads("doctor", "iddpm-17")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
