"""Alignment and rotation on the command line."""

import json

import numpy as np
import pytest

NETWORK = "iddpm-16,channels=8,groups=8,mults=1x1"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    import sads

    directory = tmp_path_factory.mktemp("geometry")
    sads.estimate_geometry(NETWORK, shape=(1, 8, 8), networks=600, out=directory)
    return str(directory)


def test_align_in_words_and_json(sads, stored, tmp_path):
    code, out, err = sads("align", stored, "--data", "digits", "--png", str(tmp_path / "a.png"))
    assert (code, err) == (0, "")
    assert "alpha" in out
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    printed = json.loads(sads("align", stored, "--data", "digits", "--json")[1])
    assert printed["alpha_min"] < printed["alpha"] < printed["alpha_max"]
    assert 0 < printed["position"] < 1
    assert printed["alpha_error"] > 0
    assert sum(part["share"] for part in printed["profile"]) == pytest.approx(1)
    assert printed["profile"][0]["first"] == 0
    assert printed["profile"][-1]["last"] == 63


def test_isotropic_position_is_null(sads, tmp_path):
    assert (
        sads(
            "geometry",
            "mlp,width=8",
            "--shape",
            "1x8x8",
            "--networks",
            "48",
            "--out",
            str(tmp_path),
        )[0]
        == 0
    )
    code, out, _ = sads("align", str(tmp_path), "--data", "digits", "--json")
    assert code == 0
    assert json.loads(out)["position"] is None


def test_rotate_then_train_then_sample(sads, stored, tmp_path):
    turn, run, file = (str(tmp_path / name) for name in ("turn", "run", "x.npy"))
    code, out, _ = sads(
        "rotate",
        stored,
        "--data",
        "digits",
        "--kind",
        "min",
        "--rank",
        "4",
        "--out",
        turn,
        "--json",
    )
    assert code == 0
    printed = json.loads(out)
    assert printed["error"] <= 1e-6
    assert printed["alpha"] < printed["alpha_before"]
    options = ["--shape", "1x8x8", "--data", "digits", "--iterations", "2", "--batch-size", "10"]
    code, _, err = sads("train", NETWORK, *options, "--rotation", turn, "--out", run)
    assert (code, err) == (0, "")
    code, _, err = sads("sample", run, "--count", "3", "--steps", "2", "--out", file)
    assert (code, err) == (0, "")
    assert np.load(file).shape == (3, 1, 8, 8)
    code, _, err = sads(
        "train", NETWORK, *options, "--rotation", "max", "--geometry", stored, "--out", f"{run}-max"
    )
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--data", "digits,size=9", "--kind", "min"], "expected 1x8x8"),
        (["--data", "digits", "--kind", "min", "--rank", "65"], "between 1 and 64"),
        (["--data", "digits", "--kind", "identity", "--rank", "2"], "takes no rank"),
        (["--data", "digits", "--kind", "least"], "least"),
        (["--data", "digits", "--kind", "min", "--rank", "0"], "between 1 and 64"),
    ],
    ids=str,
)
def test_bad_rotations_are_one_line_and_write_nothing(sads, stored, tmp_path, words, said):
    code, out, err = sads("rotate", stored, *words, "--out", str(tmp_path / "turn"))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err
    assert not (tmp_path / "turn").exists()


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_constant_data_is_refused(sads, stored, tmp_path, value):
    np.save(tmp_path / "c.npy", np.full((5, 1, 8, 8), value, dtype=np.float32))
    code, out, err = sads("align", stored, "--data", f"npy:{tmp_path / 'c.npy'}")
    assert (code, out) == (2, "")
    assert "expected data that varies" in err


def test_few_samples_work_and_are_said(sads, stored):
    code, out, _ = sads("align", stored, "--data", "digits,count=20")
    assert code == 0
    assert "Fewer samples (20) than dimensions (64)" in out


def test_no_geometry(sads, tmp_path):
    code, _, err = sads("align", str(tmp_path), "--data", "digits")
    assert code == 2
    assert "no geometry" in err
