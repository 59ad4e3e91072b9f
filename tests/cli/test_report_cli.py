"""`sads report` on the command line."""

import json

import sads as package


def test_a_report_is_written_and_summed_up(sads, tmp_path):
    package.estimate_geometry("dit-2", shape="1x8x8", out=tmp_path / "dit")
    out = tmp_path / "report.html"
    code, said, _ = sads("report", str(tmp_path / "dit"), "--data", "digits", "--out", str(out))
    assert code == 0
    assert len(said.splitlines()) == 5
    assert str(out) in said
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    again = sads("report", str(tmp_path / "dit"), "--out", str(out))
    assert again[0] == 2
    assert again[2].count("\n") == 1
    assert "--force" in again[2]
    code, said, _ = sads("report", str(tmp_path / "dit"), "--out", str(out), "--force", "--json")
    assert code == 0
    found = json.loads(said)
    assert found["bytes"] == out.stat().st_size < 8e6
    assert len(found["sentences"]) == 3


def test_bad_input_is_one_line_and_writes_nothing(sads, tmp_path):
    out = tmp_path / "report.html"
    for directory in (tmp_path, tmp_path / "nowhere"):
        code, said, error = sads("report", str(directory), "--out", str(out))
        assert (code, said) == (2, "")
        assert error.startswith("sads: error: no geometry in")
        assert error.count("\n") == 1
    assert sads("report", "--out", str(out))[0] == 2
    assert not out.exists()
