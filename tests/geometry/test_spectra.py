"""Spectra of large geometries are kept beside them, and only taken for what they are of."""

import numpy as np
import pytest

from sads.errors import ArtefactError
from sads.geometry import estimate_geometry, keep_spectrum, load_geometry, spectra
from sads.geometry import geometry as geometry_module
from sads.storage.sealed import read_sealed, write_sealed

from .families import FAMILIES

UNET = FAMILIES["unet"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(geometry_module, "KEPT_FROM", 1)
    estimate_geometry(UNET, networks=240, out=tmp_path)
    return tmp_path


@pytest.fixture
def computed(monkeypatch):
    """How often a spectrum was computed."""
    calls = []
    compute = geometry_module.sampled_spectrum
    monkeypatch.setattr(
        geometry_module, "sampled_spectrum", lambda *given: calls.append(1) or compute(*given)
    )
    return calls


def same(one, other):
    return (one.bands, one.resolution) == (other.bands, other.resolution) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in spectra.ARRAYS
    )


def test_a_kept_spectrum_is_the_computed_one(place, computed):
    kept = load_geometry(place).spectrum()
    assert not computed
    (place / spectra.FILE).unlink()
    assert same(kept, load_geometry(place).spectrum())
    assert computed == [1]


def test_more_networks_have_a_spectrum_of_their_own(place, computed):
    before = load_geometry(place).spectrum()
    after = estimate_geometry(UNET, networks=360, out=place).spectrum()
    assert computed == [1]
    assert not same(before, after)
    assert same(after, load_geometry(place).spectrum())
    assert computed == [1]


@pytest.mark.parametrize("spoil", ["truncated", "flipped", "foreign"])
def test_a_spoilt_file_is_computed_again(place, computed, spoil):
    path = place / spectra.FILE
    content = bytearray(path.read_bytes())
    if spoil == "truncated":
        content = content[:-8]
    elif spoil == "flipped":
        content[-3] ^= 1
    else:
        content = bytearray(b"nothing of ours")
    path.write_bytes(content)
    geometry = load_geometry(place)
    keep_spectrum(geometry, place)
    assert computed == [1]
    assert same(geometry.spectrum(), load_geometry(place).spectrum())
    assert computed == [1]


def test_a_file_of_an_older_format_is_computed_again(place, computed):
    """Version 2 had other bands and no resolution."""
    path = place / spectra.FILE
    stored = read_sealed(path, spectra.FORMAT)
    header = {key: text for key, text in stored.metadata.items() if key != "resolution"}
    write_sealed(path, "sads.spectrum/2", header, stored.tensors)
    assert load_geometry(place).spectrum().resolution
    assert computed == [1]


def test_a_directory_that_cannot_be_written_to(place, computed, monkeypatch):
    def refuse(*given):
        raise ArtefactError("read-only")

    (place / spectra.FILE).unlink()
    monkeypatch.setattr(spectra, "write_sealed", refuse)
    keep_spectrum(load_geometry(place), place)
    assert load_geometry(place).spectrum().bands
    assert not (place / spectra.FILE).exists()


def test_computing_a_spectrum_writes_nothing(place):
    (place / spectra.FILE).unlink()
    before = {path: path.stat().st_mtime_ns for path in place.iterdir()}
    assert load_geometry(place).spectrum().bands
    assert {path: path.stat().st_mtime_ns for path in place.iterdir()} == before


def test_a_finished_run_that_is_asked_for_again_has_its_spectrum(place, computed):
    geometry = estimate_geometry(UNET, networks=240, out=place)
    assert same(geometry.spectrum(), load_geometry(place).spectrum())
    assert not computed


def test_small_spectra_are_not_kept(tmp_path):
    estimate_geometry(UNET, networks=240, out=tmp_path).spectrum()
    assert not (tmp_path / spectra.FILE).exists()


def test_the_whitened_error_is_kept_with_the_spectrum(place, monkeypatch):
    computed = load_geometry(place)
    (place / spectra.FILE).rename(place / "aside")
    plain = load_geometry(place).whitened_error
    (place / "aside").rename(place / spectra.FILE)
    monkeypatch.setattr(geometry_module, "halves_error", None)  # would fail
    assert load_geometry(place).whitened_error == computed.whitened_error == plain


@pytest.mark.parametrize(("text", "known"), [(None, False), ("-1.0", False), ("0.25", True)])
def test_a_file_without_a_sensible_error_is_read_or_made_again(place, text, known):
    path = place / spectra.FILE
    stored = read_sealed(path, spectra.FORMAT)
    header = {key: value for key, value in stored.metadata.items() if key != "whitened_error"}
    if text is not None:
        header["whitened_error"] = text
    write_sealed(path, spectra.FORMAT, header, stored.tensors)
    geometry = load_geometry(place)
    assert (geometry.whitened_error == 0.25) is known
    assert (geometry.kept is None) is (text == "-1.0")
