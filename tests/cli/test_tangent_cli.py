"""`sads geometry --of tangent`, and what other commands make of its result."""

import json
import re

import pytest

NETWORK = ["geometry", "cnn,width=4,depth=1", "--shape", "1x4x4", "--probe", "gaussian:1"]


@pytest.fixture
def stored(sads, tmp_path):
    places = {of: str(tmp_path / of) for of in ("outputs", "tangent")}
    for of, place in places.items():
        assert sads(*NETWORK, "--of", of, "--networks", "60", "--out", place)[0] == 0
    return places


def test_every_command_takes_a_tangent_kernel(sads, stored, tmp_path):
    code, out, _ = sads("directions", stored["tangent"], "--json")
    printed = json.loads(out)
    assert (code, printed["of"], printed["readout"]) == (0, "tangent", "tangent")
    assert "moved most by a training step" in sads("directions", stored["tangent"])[1]
    report = tmp_path / "report.html"
    assert sads("report", stored["tangent"], "--out", str(report))[0] == 0
    text = re.sub(r"</?span[^>]*>", "", report.read_text())
    assert "--of tangent" in text
    assert "predicted to model" not in text
    assert sads("compare", stored["tangent"], stored["tangent"])[0] == 0


def test_it_is_not_compared_with_a_geometry_of_outputs(sads, stored):
    code, _, err = sads("compare", stored["outputs"], stored["tangent"])
    assert code == 2
    assert "two quantities" in err
    assert err.count("\n") == 1


def test_it_is_planned_and_refused_in_one_line(sads):
    code, out, _ = sads(*NETWORK, "--of", "tangent", "--dry-run")
    assert code == 0
    assert "products of Jacobians are sampled" in out
    code, _, err = sads(*NETWORK, "--of", "tangent", "--estimator", "naive")
    assert (code, err.count("\n")) == (2, 1)
    assert "unknown estimator 'naive' of tangent" in err
