"""A flow network through the command line, from geometry to report."""

import json

import numpy as np
import pytest

NETWORK = "cnn,width=4,depth=1,prediction=flow"
SHAPE = ("--shape", "1x8x8")
TAKEN = "Taken as: velocity of a flow (eps - x_0), rectified flow"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory):
    return tmp_path_factory.mktemp("flow")


def test_geometry(sads, place):
    code, out, _ = sads(
        "geometry", NETWORK, *SHAPE, "--networks", "48", "--out", str(place / "geometry")
    )
    assert code == 0
    assert TAKEN in out


def test_train_sample_and_risk(sads, place):
    run, file = str(place / "run"), str(place / "samples.npy")
    told = ("--data", "gaussian", "--iterations", "4", "--batch-size", "16")
    code, out, _ = sads("train", NETWORK, *SHAPE, *told, "--out", run)
    assert code == 0
    assert TAKEN in out
    for solver in ("euler", "heun", "ddpm", "ddim"):
        code, _, _ = sads(
            *("sample", run, "--count", "5", "--steps", "4", "--solver", solver),
            *("--out", file, "--force"),
        )
        assert code == 0
        assert np.load(file).shape == (5, 1, 8, 8)
    code, out, _ = sads("risk", run, "--data", "gaussian", "--tolerance", "0.2", "--json")
    assert code == 0
    printed = json.loads(out)
    assert printed["exact"]
    assert printed["nats"] is None
    code, out, _ = sads(
        *("risk", run, "--data", "gaussian", "--tolerance", "0.2"),
        *("--of", "clean", "--sigmas", "0.5,2"),
    )
    assert code == 0
    assert "of the denoised image" in out
    assert "mean over sigma = 0.5, 2." in out
    assert "nats" not in out
    code, out, _ = sads(
        "sample", run, "--count", "5", "--solver", "heun", "--eta", "1", "--out", "x"
    )
    assert code == 2


def test_forecast_and_doctor(sads):
    code, out, _ = sads(
        *("forecast", NETWORK, *SHAPE, "--data", "gaussian", "--networks", "8", "--json"),
    )
    assert code == 0
    assert json.loads(out)
    code, out, _ = sads("doctor", NETWORK, *SHAPE)
    assert code in (0, 1)
    assert TAKEN in out


def test_report(sads, place):
    file = place / "report.html"
    code, _, _ = sads(
        *("report", str(place / "geometry"), "--doctor", "--training", str(place / "run")),
        *("--out", str(file)),
    )
    assert code == 0
    html = file.read_text()
    assert NETWORK in html
    assert "Not examined" not in html


@pytest.mark.parametrize("network", ["cnn,prediction=w", "cnn,path=up", "cnn,time=late"])
def test_unknown_options_are_one_line(sads, network):
    code, _, error = sads("geometry", network, *SHAPE)
    assert code == 2
    assert error.count("\n") == 1
