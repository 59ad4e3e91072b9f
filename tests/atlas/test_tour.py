"""Many architectures one after the other: some fail, and the process may be killed."""

import json
import signal
import subprocess
import sys
from importlib import import_module

import pytest

from sads.atlas import load_atlas, load_rows, look_at_all
from sads.atlas.rows import read_row, row_path
from sads.errors import ArtefactError
from tests.cli.conftest import sads

__all__ = ["sads"]

FACTORIES = """
import os, signal
from pathlib import Path
from torch import nn

HERE = Path(__file__).parent

class Small(nn.Module):
    def __init__(self, channels=1):
        super().__init__()
        self.layer = nn.Conv2d(channels, 1, 3, padding=1)
    def forward(self, x, t):
        return self.layer(x)

def mends():
    return Small(1 if (HERE / "mended").exists() else 18)

def deadly():
    if not (HERE / "mended").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return Small()
"""


def entry(name, network):
    return (
        f'[[network]]\nname = "{name}"\nnetwork = "{network}"\nshape = "1x4x4"\nkind = "CNN"\n'
        "networks = 12\n"
    )


@pytest.fixture
def listed(tmp_path):
    """A list whose second network fails in one way or another until it is mended."""
    (tmp_path / "networks.py").write_text(FACTORIES)

    def write(second):
        path = tmp_path / f"{second}.toml"
        first = entry("First", "cnn,width=8,depth=1")
        third = entry("Third", "mlp,width=8,depth=1")
        path.write_text(first + entry("Second", f"{tmp_path}/networks.py:{second}") + third)
        return path

    return write


def test_a_network_that_fails_is_a_row_and_the_others_go_on(listed, tmp_path, sads):
    out, path = tmp_path / "atlas", listed("mends")
    code, text, _ = sads("atlas", str(path), "--out", str(out))
    assert code == 1
    assert "2 of 3 architectures" in text
    [said] = [line for line in text.splitlines() if line.startswith("Second failed: ")]
    assert "18 channels" in said
    first, second, third = load_rows(out)
    assert second.failed == said.removeprefix("Second failed: ")
    assert (first.failed, third.failed, second.summary) == (None, None, {})
    page = (out / "index.html").read_text()
    assert "failed: " in page
    assert "18 channels" in page

    (tmp_path / "mended").touch()
    code, text, _ = sads("atlas", str(path), "--out", str(out), "--json")
    assert code == 0
    rows = json.loads(text)["rows"]
    assert [row["failed"] for row in rows] == [None] * 3
    assert rows[0]["seconds"] == first.seconds  # not looked at again
    assert "failed: " not in (out / "index.html").read_text()


def test_anything_a_network_raises_is_told(listed, tmp_path, monkeypatch):
    def survey_fails(*_, **__):
        raise ZeroDivisionError("of theirs")

    monkeypatch.setattr(import_module("sads.atlas.survey"), "summarise", survey_fails)
    entries = load_atlas(listed("mends"))
    rows = look_at_all(entries, entries[:1], tmp_path / "atlas")
    assert [row.failed for row in rows] == ["ZeroDivisionError: of theirs"]


def test_a_damaged_row_is_never_overwritten(listed, tmp_path):
    entries = load_atlas(listed("mends"))
    look_at_all(entries, entries[:1], tmp_path / "atlas")
    place = row_path(tmp_path / "atlas", "first")
    place.write_text(place.read_text().replace("225", "226"))
    damaged = place.read_text()
    with pytest.raises(ArtefactError):
        look_at_all(entries, entries, tmp_path / "atlas")
    assert place.read_text() == damaged


def test_a_killed_atlas_loses_the_row_in_progress_alone(listed, tmp_path):
    out, path = tmp_path / "atlas", listed("deadly")
    command = [sys.executable, "-m", "sads", "atlas", str(path), "--out", str(out)]
    killed = subprocess.run(command, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    [kept] = load_rows(out)
    assert (kept.name, kept.failed) == ("First", None)
    page = (out / "index.html").read_text()
    assert "First" in page
    assert "Not looked at yet: Second, Third." in page

    (tmp_path / "mended").touch()
    rows = look_at_all(load_atlas(path), load_atlas(path), out)
    assert [row.name for row in rows] == ["First", "Second", "Third"]
    assert read_row(row_path(out, "first")) == kept
    assert all(row.processor_seconds > 0 for row in rows)
