"""Geometries in a subspace through every command that reads them."""

import json

import numpy as np
import pytest

NETWORK = "iddpm-16,channels=8,groups=8,mults=1x1"
SHAPE = (1, 8, 8)


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> dict[str, str]:
    """One network in the whole space and in subspaces, and another network."""
    import sads

    root = tmp_path_factory.mktemp("subspaces")
    kinds = {
        "whole": (NETWORK, "full"),
        "low": (NETWORK, "dct:5"),
        "lower": (NETWORK, "dct:3"),
        "found": (NETWORK, "adaptive:20"),
    }
    for name, (network, subspace) in kinds.items():
        sads.estimate_geometry(
            network, shape=SHAPE, networks=240, subspace=subspace, out=root / name
        )
    other = "cnn,width=8"
    subspace = f"geometry={root / 'found'}"
    sads.estimate_geometry(other, shape=SHAPE, networks=240, subspace=subspace, out=root / "other")
    return {name: str(root / name) for name in (*kinds, "other")}


def test_geometry_says_its_subspace_first(sads, tmp_path):
    command = ("geometry", "cnn", "--shape", "2x8x8", "--networks", "24")
    code, out, err = sads(*command, "--subspace", "adaptive:10")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "Estimated in the subspace adaptive:10: 20 of 128 directions" in lines[2]
    assert "of tr G inside" in lines[2]
    assert "certificates are of the geometry compressed to it" in lines[2]
    printed = json.loads(sads(*command, "--subspace", "dct:4", "--json")[1])
    assert (printed["subspace"], printed["structure"]) == ("dct:4", "channels")
    assert 0 < printed["inside_error"] < 0.01 < printed["inside"] < 1
    assert len(printed["eigenvalues"]) == 32
    plain = json.loads(sads(*command, "--json")[1])
    assert (plain["subspace"], plain["inside"], plain["inside_error"]) == (None, 1.0, 0.0)
    dry = sads(*command, "--subspace", "adaptive:10", "--dry-run")[1]
    assert "subspace adaptive:10, 10 of 64 rows of the factor" in dry


@pytest.mark.parametrize(
    ("subspace", "said"),
    [
        ("dct:9", "dct:9 is larger than the space"),
        ("adaptive:65", "adaptive:65 is larger than the space"),
        ("adaptive:40,sketch=0", "numbers of a subspace are 1 or more"),
        ("dct", "unknown subspace 'dct'"),
        ("dct:4,sketch=3", "unknown subspace"),
        ("adaptive:ten", "the size of adaptive"),
        ("wavelets:3", "expected full, dct:K, adaptive:M"),
        ("geometry=nowhere", "no geometry in nowhere"),
    ],
)
def test_bad_subspaces_are_one_line(sads, subspace, said):
    command = ("geometry", "cnn", "--shape", "1x8x8", "--networks", "24")
    code, _, err = sads(*command, "--subspace", subspace)
    assert code == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_a_sketch_of_too_few_networks_is_refused(sads):
    command = ("geometry", "cnn", "--shape", "1x8x8", "--networks", "24", "--estimator", "naive")
    code, _, err = sads(*command, "--subspace", "adaptive:40,sketch=12")
    assert code == 2
    assert "a sketch of 12 networks shows at most 12 directions" in err


@pytest.mark.parametrize("kind", ["low", "found"])
def test_the_alpha_of_the_whole_is_within_the_limits(sads, stored, kind):
    whole = json.loads(sads("align", stored["whole"], "--data", "digits", "--json")[1])
    printed = json.loads(sads("align", stored[kind], "--data", "digits", "--json")[1])
    assert printed["alpha_low"] < whole["alpha"] < printed["alpha_high"]
    assert printed["alpha_low"] < printed["alpha"] < printed["alpha_high"]
    assert printed["alpha_min"] <= printed["alpha"] <= printed["alpha_max"]
    assert 0.3 < printed["energy_inside"] < 1
    assert (whole["alpha_low"], whole["energy_inside"]) == (whole["alpha"], 1)
    words = sads("align", stored[kind], "--data", "digits")[1]
    assert "whatever lies outside, the alpha of the whole is between" in words


def test_the_energy_inside_is_that_of_the_coordinates(stored):
    import sads

    geometry = sads.load_geometry(stored["low"])
    data = np.random.default_rng(0).standard_normal((50, *SHAPE))
    flat = data.reshape(50, -1)
    inside = geometry.structure.assembled(geometry.structure.parts(flat))
    alignment = sads.align(geometry, data)
    assert alignment.energy == pytest.approx(np.square(inside).sum() / np.square(flat).sum())
    forms = np.einsum("ij,ij->i", flat, geometry.matvec(flat))
    assert alignment.alpha == pytest.approx(forms.mean())
    moment = inside.T @ inside / 50
    assert alignment.alpha == pytest.approx(np.vdot(geometry.matrix(), moment))
    sigmas = np.linalg.eigvalsh(moment)[::-1][: geometry.structure.directions]
    np.testing.assert_allclose(alignment.sigmas, np.maximum(sigmas, 0), atol=1e-9)


@pytest.mark.parametrize("pair", [("low", "whole"), ("lower", "low"), ("found", "whole")], ids=str)
def test_one_network_does_not_differ_from_itself_in_a_smaller_subspace(sads, stored, pair):
    """Equal seeds: the same networks; the whole is averaged over a symmetry, what is found not."""
    code, out, _ = sads("compare", *(stored[name] for name in pair), "--json")
    assert code == 0
    assert json.loads(out)["distance"] < (0.05 if "found" in pair else 1e-6)


def test_other_networks_differ_in_one_subspace_and_not_across_subspaces(sads, stored):
    code, out, _ = sads("compare", stored["found"], stored["other"], "--json")
    assert code == 1
    assert json.loads(out)["p_value"] < 0.01
    code, _, err = sads("compare", stored["low"], stored["found"])
    assert code == 2
    assert "estimate one of them in the subspace of the other" in err


@pytest.mark.parametrize("kind", ["low", "found"])
def test_directions_and_reports_show_lifted_eigenvectors(sads, stored, kind, tmp_path):
    picture, page = tmp_path / "directions.png", tmp_path / "report.html"
    assert sads("directions", stored[kind], "--png", str(picture))[0] == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    code, _, err = sads("report", stored[kind], "--data", "digits", "--out", str(page))
    assert (code, err) == (0, "")
    text = page.read_text()
    assert "Estimated in the subspace" in text
    assert "of tr G inside" in text


def test_rotations_are_refused(sads, stored, tmp_path):
    command = ("rotate", stored["found"], "--data", "digits", "--kind", "min")
    code, _, err = sads(*command, "--out", str(tmp_path / "w"))
    assert code == 2
    assert "needs a geometry of the whole space, this one is of the subspace adaptive:20" in err


def test_forecasts_are_told_along_the_eigenvectors_of_a_subspace(sads, stored):
    code, out, err = sads(
        *("forecast", NETWORK, "--shape", "1x8x8", "--data", "gaussian", "--networks", "8"),
        *("--directions", f"geometry={stored['found']}", "--json"),
    )
    assert (code, err) == (0, "")
    assert len(json.loads(out)["directions"]) == 20


def test_coefficients_are_those_of_the_lifted_eigenvectors(stored):
    import torch

    import sads
    from sads.directions.sets import Eigenvectors
    from sads.learning.projections import Energies

    x = np.random.default_rng(0).standard_normal((3, 64))
    for kind in ("low", "found"):
        spectrum = sads.load_geometry(stored[kind]).spectrum()
        directions = Eigenvectors(SHAPE, spectrum)
        expected = x @ spectrum.eigenvectors
        np.testing.assert_allclose(directions.coefficients(x), expected, atol=1e-10)
        energies = Energies(directions, torch.device("cpu"))(torch.from_numpy(x))
        np.testing.assert_allclose(energies.numpy(), expected**2, atol=1e-10)


def test_data_can_be_drawn_along_a_direction_of_a_subspace(sads, stored):
    code, out, _ = sads(
        "align", stored["found"], "--data", f"rank-one:geometry={stored['found']}:0", "--json"
    )
    assert code == 0
    printed = json.loads(out)
    assert printed["energy_inside"] == pytest.approx(1)
    assert printed["position"] == pytest.approx(1, abs=1e-6)
    code, _, err = sads(
        "align", stored["found"], "--data", f"rank-one:geometry={stored['found']}:20"
    )
    assert code == 2
    assert "choose 0 to 19" in err


def test_the_doctor_examines_a_network_whose_factor_does_not_fit(sads, monkeypatch):
    from sads.devices import available_memory

    for module in ("inspection.readout_base", "geometry.subspace_choice"):
        monkeypatch.setattr(f"sads.{module}.available_memory", lambda: 300 * 64**2 - 1)
    monkeypatch.setattr("sads.geometry.subspace_choice.MOST_ADAPTIVE", 16)
    monkeypatch.setattr("sads.geometry.subspace_choice.FEWEST_ADAPTIVE", 16)
    assert available_memory() > 300 * 64**2
    command = ("doctor", NETWORK, "--shape", "1x8x8", "--networks", "48", "--json")
    code, out, _ = sads(*command)
    assert code in (0, 1)
    assert json.loads(out)["network"] == NETWORK


def test_a_shape_at_which_no_network_can_run_is_refused_before_it_is_run(sads, monkeypatch):
    """No subspace helps where the features of one network do not fit."""
    from sads import devices
    from sads.geometry import estimators

    for place in (devices, estimators):
        monkeypatch.setattr(place, "available_memory", lambda: 2**20)
    code, out, err = sads("geometry", "cnn", "--shape", "1x100x100", "--subspace", "dct:2")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "one network with 32 features at each of 10,000 places needs 0.0 GiB" in err
    assert "places would fit" in err
