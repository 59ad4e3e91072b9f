"""`sads report` on the command line."""

import json

import torch

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
    printed = json.loads(said)
    assert printed["bytes"] == out.stat().st_size < 8e6
    assert len(printed["sentences"]) == 3


def test_bad_input_is_one_line_and_writes_nothing(sads, tmp_path):
    out = tmp_path / "report.html"
    for directory in (tmp_path, tmp_path / "nowhere"):
        code, said, error = sads("report", str(directory), "--out", str(out))
        assert (code, said) == (2, "")
        assert error.startswith("sads: error: no geometry in")
        assert error.count("\n") == 1
    assert sads("report", "--out", str(out))[0] == 2
    assert not out.exists()


def test_a_card_is_markdown_to_print_or_to_write(sads, tmp_path):
    package.estimate_geometry("dit-2", shape="1x8x8", out=tmp_path / "dit")
    code, said, _ = sads("report", str(tmp_path / "dit"), "--card")
    assert code == 0
    assert said.startswith("## Geometry before training")
    assert "| anisotropy | as if all scores lay in " in said
    assert f"sads geometry dit-2 --shape 1x8x8 --out {tmp_path / 'dit'}" in said
    path = tmp_path / "card.md"
    assert sads("report", str(tmp_path / "dit"), "--card", "--out", str(path))[0] == 0
    assert path.read_text() == said.rstrip("\n") + "\n"
    assert sads("report", str(tmp_path / "dit"))[0] == 2


def test_a_monitor_has_a_section_or_a_page_of_its_own(sads, tmp_path):
    with package.Monitor((1, 8, 8), every=2, out=tmp_path / "monitor") as monitor:
        for _ in range(6):
            target = torch.randn(16, 1, 8, 8)
            monitor.update(0.9 * target, target, torch.randint(1000, (16,)))
    page, alone = tmp_path / "report.html", tmp_path / "training.html"
    package.estimate_geometry("dit-2", shape="1x8x8", out=tmp_path / "dit")
    both = ("report", str(tmp_path / "dit"), "--monitor", str(tmp_path / "monitor"))
    assert sads(*both, "--out", str(page))[0] == 0
    assert 'id="followed"' in page.read_text()
    code, said, _ = sads("report", "--monitor", str(tmp_path / "monitor"), "--out", str(alone))
    assert code == 0
    assert "none lags" in said
    assert alone.read_text().startswith("<!doctype html>")
    package.estimate_geometry("dit-2", shape="1x4x4", out=tmp_path / "small")
    other = ("report", str(tmp_path / "small"), "--monitor", str(tmp_path / "monitor"))
    code, _, err = sads(*other, "--out", str(page), "--force")
    assert code == 2
    assert "the monitor in" in err


def test_a_training_with_data_shows_its_risk(sads, tmp_path):
    network = {"shape": "1x8x8", "iterations": 3, "batch_size": 8}
    package.train("mlp,width=8", "digits", out=tmp_path / "training", **network)
    package.estimate_geometry("mlp,width=8", shape="1x8x8", networks=24, out=tmp_path / "geometry")
    page = tmp_path / "report.html"
    words = ("report", str(tmp_path / "geometry"), "--training", str(tmp_path / "training"))
    assert sads(*words, "--data", "digits", "--out", str(page))[0] == 0
    text = page.read_text()
    assert 'id="risk"' in text
    assert "Held-out loss" in text
    for section in ("levels", "doctor", "followed", "sweep"):  # nothing to say
        assert f'id="{section}"' not in text
        assert f'href="#{section}"' not in text
