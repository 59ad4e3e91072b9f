"""`sads compare` on real networks: its verdicts, exit codes and JSON."""

import json
from xml.etree import ElementTree

import pytest

import sads as package

SMALL = "iddpm-16,channels=8,groups=8,mults=1x1"
NETWORKS = {
    "one": (SMALL, {"seed": 1, "networks": 1920}),
    "other": (SMALL, {"seed": 2, "networks": 240}),
    "area": (f"{SMALL},resampling=area", {"seed": 3, "networks": 1920}),
    "groups": ("iddpm-16,channels=8,groups=4,mults=1x1", {"seed": 4, "networks": 120}),
    # With the score's weights few of 600 naive networks carry the sum, and a comparison with a
    # closed form misses its level: six seeds of twelve are below 0.01. With equal weights none is.
    "exact": ("dit-2,width=16,heads=2", {"weighting": "noise"}),
    "sampled": (
        "dit-2,width=16,heads=2",
        {"estimator": "naive", "networks": 600, "weighting": "noise"},
    ),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("geometries")
    for name, (network, options) in NETWORKS.items():
        package.estimate_geometry(network, shape="1x8x8", out=folder / name, **options)
    package.estimate_geometry(SMALL, shape="1x16x16", networks=24, out=folder / "large")
    return folder


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("one", "one", 0),
        ("one", "other", 0),
        ("one", "area", 1),
        ("one", "groups", 1),
        ("one", "exact", 1),
        ("exact", "exact", 0),
        ("exact", "sampled", 0),
    ],
)
def test_the_exit_code_is_the_verdict(sads, stored, first, second, code):
    exit_code, out, err = sads("compare", str(stored / first), str(stored / second))
    assert (exit_code, err) == (code, "")
    taken, verdict = out.splitlines()[:2]
    assert taken.startswith("Taken as")
    assert verdict.startswith("They differ" if code else "No difference")
    assert ("Made differently: network" in out) == bool(code)


def test_json_has_what_it_promises(sads, stored):
    arguments = ["compare", str(stored / "one"), str(stored / "groups"), "--json"]
    code, out, _ = sads(*arguments)
    printed = json.loads(out)
    assert code == 1
    assert printed["different"] is True
    assert printed["p_value"] <= printed["level"] == 0.01
    assert printed["distance"] > 10 * printed["distance_error"] > 0
    assert printed["shape_p_value"] <= 0.01
    assert printed["scale"] < 1  # fewer groups: smaller outputs
    assert printed["bands"][0]["first"] == 0
    assert printed["bands"][-1]["last"] == 63
    assert any(band["different"] for band in printed["bands"])
    assert len(printed["whitened_errors"]) == 2
    assert any("groups=4" in note for note in printed["notes"])
    assert sads(*arguments, "--ignore-scale")[0] == 1
    assert sads(*arguments)[1] == out


@pytest.mark.parametrize(
    ("second", "option", "said"),
    [
        ("large", (), "expected 1x8x8 as in the first, got 1x16x16"),
        ("nothing", (), "no geometry"),
        ("one", ("--level", "0"), "level"),
    ],
)
def test_what_cannot_be_compared(sads, stored, second, option, said):
    code, out, err = sads("compare", str(stored / "one"), str(stored / second), *option)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_what_networks_are_taken_for_comes_first(sads, tmp_path):
    places = [str(tmp_path / name) for name in ("a", "b", "turn")]
    for seed, place in enumerate(places[:2]):
        options = ("--shape", "1x4x4", "--networks", "48", "--seed", str(seed), "--out", place)
        assert sads("geometry", "cnn,width=8,depth=2", *options)[0] == 0
    _, out, _ = sads("compare", *places[:2])
    assert out.startswith("Taken as")
    assert out.count("Taken as") == 1
    assumptions = json.loads(sads("compare", *places[:2], "--json")[1])["assumptions"]
    assert [one["prediction"] for one in assumptions] == ["eps", "eps"]
    options = ("--data", "digits,size=4", "--kind", "random", "--out", places[2])
    assert sads("rotate", places[0], *options)[1].startswith("Taken as")
    told = json.loads(sads("rotate", places[0], *options, "--force", "--json")[1])
    assert told["assumptions"]["prediction"] == "eps"


@pytest.mark.parametrize(("weighting", "warned"), [("score", True), ("noise", False)])
def test_naive_estimates_of_few_effective_networks_are_said_to_be(
    sads, tmp_path, weighting, warned
):
    """With score weights 0.74 % of the networks count: one timestep has a third of the weight."""
    options = ("--shape", "1x2x2", "--weighting", weighting)
    network = "mlp,width=4,depth=1"
    naive, integrated = str(tmp_path / "naive"), str(tmp_path / "integrated")
    sads("geometry", network, *options, "--estimator", "naive", "--networks", "600", "--out", naive)
    sads("geometry", network, *options, "--networks", "48", "--out", integrated)
    _, out, _ = sads("compare", integrated, naive)
    assert ("4 effective networks of 600" in out) == warned
    assert ("found too often" in out) == warned


def test_continuous_integration_gets_a_file(sads, tmp_path):
    for name, network in (("a", "cnn,width=8"), ("b", "dit-2")):
        package.estimate_geometry(network, shape="1x4x4", networks=48, out=tmp_path / name)
    path = tmp_path / "compare.xml"
    for other, code in (("a", 0), ("b", 1)):
        options = ("--junit", str(path))
        assert sads("compare", str(tmp_path / "a"), str(tmp_path / other), *options)[0] == code
        (case,) = ElementTree.parse(path).getroot()
        assert (case.find("failure") is not None) is bool(code)
