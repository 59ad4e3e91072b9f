"""What notebooks show."""

from xml.etree import ElementTree

import numpy as np
import pytest

import sads
from sads.presentation.markup import facts, log_plot, table
from sads.presentation.palette import CERTIFIED, UNCERTIFIED
from sads.specs.coercion import as_dataset
from tests.sweep.small import InProcess, write_spec

NETWORK = "iddpm-16,channels=8,groups=8,mults=1x1"


@pytest.fixture(scope="module")
def geometry():
    return sads.estimate_geometry(NETWORK, shape="1x8x8", networks=240)


def _parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{html}</div>")


def test_a_dot_for_each_positive_value():
    svg = log_plot([4.0, 2.0, 0.0, 1.0], [CERTIFIED, CERTIFIED, CERTIFIED, UNCERTIFIED], "<x>")
    paths = list(_parsed(svg).iter("path"))
    assert sorted(p.get("d", "").count("M") for p in paths) == [1, 2]
    assert log_plot([0.0], [CERTIFIED], "x") == ""


def test_names_are_escaped():
    strange = "<script>alert(1)</script>"
    for html in (facts(strange, [(strange, strange)]), table([strange], [[strange]])):
        assert "<script>" not in html
        assert strange in "".join(_parsed(html).itertext())


def test_geometry_spectrum_and_alignment_show_themselves(geometry):
    words = "".join(_parsed(geometry._repr_html_()).itertext())
    assert "240" in words
    assert "whitened error" in words
    spectrum = geometry.spectrum()
    dots = sum(p.get("d", "").count("M") for p in _parsed(spectrum._repr_html_()).iter("path"))
    assert dots == 64
    html = sads.align(geometry, "digits")._repr_html_()
    assert "digits" in html
    assert "position" in html


def test_shares_of_rows_are_those_of_bands(geometry):
    alignment = sads.align(geometry, "digits")
    assert alignment.row_shares.sum() == pytest.approx(1.0)
    whole = alignment.geometry.spectrum().eigenvectors
    images = as_dataset("digits", split="train").samples.reshape(-1, 64)
    direct = np.square(images.astype(float) @ whole).mean(axis=0)
    np.testing.assert_allclose(alignment.row_shares, direct / direct.sum(), rtol=1e-9)


def test_results_show_their_means(tmp_path):
    spec = write_spec(tmp_path, indices=(0, 5), seeds=(0, 1))
    sads.run_sweep(spec, tmp_path / "out", engine=InProcess())
    results = sads.load_results(tmp_path / "out")
    assert len(results.rows) == 4
    assert "4 trials: 4 done." in repr(results)
    rows = _parsed(results._repr_html_()).findall(".//tbody/tr")
    assert len(rows) == 2  # two directions, means over two seeds
