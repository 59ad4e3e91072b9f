"""No command replaces a file unless told to, and it says so before it does any work."""

import json

import numpy as np
import pytest

import sads as package
from sads.alignment import load_rotation

from .test_train_cli import train

#: Commands that write one file. What they would read is not there: the file is refused before.
WRITERS = {
    "sample": (["sample", "nowhere", "--count", "2", "--steps", "2"], "--out"),
    "report": (["report", "nowhere"], "--out"),
    "data": (["data", "npy:nowhere.npy"], "--png"),
    "align": (["align", "nowhere", "--data", "digits"], "--png"),
    "directions": (["directions", "nowhere"], "--png"),
    "results": (["results", "nowhere"], "--csv"),
}


@pytest.mark.parametrize("command", WRITERS)
def test_an_existing_file_is_refused_before_anything_is_read(sads, tmp_path, command):
    words, option = WRITERS[command]
    kept = tmp_path / "precious"
    kept.write_text("work of a week")
    code, out, err = sads(*words, option, str(kept))
    assert (code, out) == (2, "")
    assert f"{kept} exists: replace it with --force" in err
    assert err.count("\n") == 1
    code, _, err = sads(*words, option, str(kept), "--force")
    assert code == 2
    assert "exists" not in err  # what is wrong now is that there is nothing to read
    assert kept.read_text() == "work of a week"


@pytest.fixture(scope="module")
def geometry(tmp_path_factory):
    out = tmp_path_factory.mktemp("geometry")
    package.estimate_geometry("dit-2", shape="1x8x8", out=out)
    return str(out)


def test_pictures_and_tables_are_replaced_when_forced(sads, tmp_path, geometry):
    picture = tmp_path / "x.png"
    for extra in ([], ["--force"]):
        assert sads("directions", geometry, "--png", str(picture), *extra)[0] == 0
    assert sads("align", geometry, "--data", "digits", "--png", str(picture))[0] == 2
    assert sads("align", geometry, "--data", "digits", "--png", str(picture), "--force")[0] == 0


def test_samples_are_replaced_when_forced(sads, tmp_path):
    run, file = str(tmp_path / "run"), tmp_path / "x.npy"
    assert sads(*train(out=run))[0] == 0
    words = ["sample", run, "--steps", "2", "--out", str(file)]
    assert sads(*words, "--count", "2")[0] == 0
    assert sads(*words, "--count", "3")[0] == 2
    assert len(np.load(file)) == 2
    assert sads(*words, "--count", "3", "--force")[0] == 0
    assert len(np.load(file)) == 3


def test_a_rotation_is_replaced_when_forced(sads, tmp_path, geometry):
    out = tmp_path / "turn"
    words = ["rotate", geometry, "--data", "digits", "--out", str(out), "--kind", "random"]
    assert sads(*words, "--seed", "1")[0] == 0
    before = load_rotation(out).digest
    code, _, err = sads(*words, "--seed", "2")
    assert code == 2
    assert "rotation.safetensors exists" in err
    assert load_rotation(out).digest == before
    assert sads(*words, "--seed", "2", "--force")[0] == 0
    assert load_rotation(out).digest != before


def test_the_rotation_of_a_training_stays(sads, tmp_path, geometry):
    """Neither `rotate` nor another training takes it away."""
    run, turn = tmp_path / "run", tmp_path / "turn"
    assert sads(*train(out=str(run), rotation="random"))[0] == 0
    words = ["rotate", geometry, "--data", "digits", "--kind", "random", "--seed", "7"]
    code, _, err = sads(*words, "--out", str(run), "--force")
    assert code == 2
    assert "holds a training" in err
    assert sads(*words, "--out", str(turn))[0] == 0
    before = load_rotation(turn).digest
    code, _, err = sads(*train(out=str(turn), rotation="random"))
    assert code == 2
    assert "another rotation" in err
    assert load_rotation(turn).digest == before
    assert sads(*train(out=str(turn), rotation=str(turn)))[0] == 0


def test_what_is_wanted_again_is_found_again(sads, tmp_path, geometry):
    """The same command on a directory is no overwriting."""
    run = str(tmp_path / "run")
    said = [json.loads(sads(*train(out=run), "--json")[1]) for _ in range(2)]
    assert said[0]["loss"] == said[1]["loss"]
    assert sads("geometry", "dit-2", "--shape", "1x8x8", "--out", geometry)[0] == 0
