"""`sads data` from the outside."""

import json
import sys

import numpy as np
import pytest
from PIL import Image

from sads.cli import main


def run(monkeypatch, capsys, *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["sads", "data", *words])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    return code, *capsys.readouterr()


def test_summary_as_json(monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, "rank-one:dct:3", "--shape", "1x4x4", "--json")
    printed = json.loads(out)
    assert code == 0
    assert printed["count"] == 10_000
    assert printed["shape"] == [1, 4, 4]
    assert printed["effective_rank"] == pytest.approx(1, abs=1e-4)
    assert printed["second_moment_trace"] == pytest.approx(16, rel=0.05)


def test_channels_of_latents_have_a_mean_and_a_spread_each(monkeypatch, capsys, tmp_path):
    rng = np.random.default_rng(0)
    latents = rng.standard_normal((50, 3, 4, 4)) * np.array([1, 2, 5])[:, None, None] + 7
    np.save(tmp_path / "latents.npy", latents.astype(np.float32))
    place = f"npy:{tmp_path / 'latents.npy'}"
    code, out, _ = run(monkeypatch, capsys, place, "--json")
    channels = json.loads(out)["channels"]
    assert code == 0
    for c, channel in enumerate(channels):
        assert channel["mean"] == pytest.approx(latents[:, c].mean(), rel=1e-5)
        assert channel["standard_deviation"] == pytest.approx(latents[:, c].std(), rel=1e-5)
    _, out, _ = run(monkeypatch, capsys, place)
    assert f"By channel: mean {latents[:, 0].mean():.4g}, " in out


def test_words_and_contact_sheet(monkeypatch, capsys, tmp_path):
    png = tmp_path / "sheet.png"
    code, out, _ = run(monkeypatch, capsys, "digits,size=16,count=20", "--png", str(png))
    assert code == 0
    assert "20 samples of 1x16x16" in out
    with Image.open(png) as image:
        assert np.asarray(image.convert("L")).std() > 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["digits,count=9999"], "asked for 9,999"),
        (["rank-one:dct:0"], "--shape"),
        (["rank-one:dct:16", "--shape", "1x4x4"], "choose 0 to 15"),
        (["digits", "--shape", "4by4"], "1x16x16"),
        (["digits", "--png", "sheet.nonsense"], "sheet.nonsense cannot be drawn"),
        (["rank-one:geometry=absent:0"], "absent"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(monkeypatch, capsys, tmp_path, words, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("sads: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())
