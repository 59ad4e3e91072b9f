"""Results with rows are tables of pandas, where it is installed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sads
from sads.foundation.data_frames import as_frame


@pytest.fixture(scope="module")
def geometry() -> sads.Geometry:
    return sads.estimate_geometry("cnn", shape="1x8x8", networks=48)


def test_rows_are_lines_of_the_table():
    frame = as_frame([{"a": 1, "b": "x"}, {"a": 2, "b": None}])
    assert list(frame.columns) == ["a", "b"]
    assert frame["a"].tolist() == [1, 2]


def test_without_pandas_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sads.InputError, match="pip install pandas"):
        as_frame([])


def test_a_spectrum_has_a_row_for_each_level(geometry):
    spectrum = geometry.spectrum()
    frame = spectrum.to_frame()
    assert frame["multiplicity"].sum() == 64
    whole = np.repeat(frame["eigenvalue"], frame["multiplicity"])
    np.testing.assert_allclose(np.sort(whole), np.sort(spectrum.eigenvalues), rtol=0.5)
    assert frame["eigenvalue"].iloc[0] == spectrum.eigenvalues[0]


def test_an_alignment_has_a_row_for_each_band(geometry):
    frame = sads.align(geometry, "digits").to_frame()
    assert len(frame) == len(geometry.spectrum().bands)
    assert frame["share"].sum() == pytest.approx(1.0)


def test_a_comparison_has_a_row_for_each_band(geometry):
    other = sads.estimate_geometry("cnn", shape="1x8x8", networks=48, seed=1)
    compared = sads.compare(geometry, other)
    assert compared.to_frame()["first"].tolist() == [band.first for band in compared.bands]


def test_a_ranking_has_a_row_for_each_network():
    short = sads.PilotProtocol(steps=2, seeds=2, points=2)
    ranking = sads.rank(["cnn", "mlp"], "digits", shape="1x8x8", pilot=short)
    frame = ranking.to_frame()
    assert frame["network"].tolist() == [entry.network for entry in ranking.entries]
    assert frame["constant"].tolist() == [e.constant for e in ranking.entries]


def test_a_risk_has_a_row_for_each_direction():
    trained = sads.train("mlp", "gaussian", shape="1x4x4", iterations=2, batch_size=10)
    risk = sads.risk(trained, data="gaussian", directions="canonical", tolerance=0.2)
    frame = risk.to_frame()
    assert len(frame) == 16
    assert frame["risk"].sum() == pytest.approx(risk.total, rel=1e-6)


def test_a_diagnosis_has_a_row_for_each_finding():
    finding = sads.Finding("silent", "error", "it is zero", "nothing is learned", "redraw it")
    frame = sads.Diagnosis("net", (1, 4, 4), (finding,), 12, ()).to_frame()
    assert frame.loc[0, "code"] == "silent"


def test_results_have_a_row_for_each_trial():
    results = sads.Results(Path("sweep"), ({"id": "a", "sw2": 1.0}, {"id": "b", "sw2": 2.0}))
    assert results.to_frame()["sw2"].mean() == 1.5


def test_nothing_but_pictures_needs_matplotlib(tmp_path):
    """In a process of its own, where matplotlib cannot be found."""
    program = """
import sys, importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "matplotlib" else found(name, *rest)
sys.modules["matplotlib"] = None  # an import fails
import sads
geometry = sads.estimate_geometry("dit-2", shape="1x4x4")
geometry.save(sys.argv[1])
sads.write_report(sads.build_report([sys.argv[1]], data="digits,size=4"), sys.argv[1] + "/r.html")
try:
    import sads.presentation.plots
except sads.InputError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert run.stdout == "pictures need matplotlib: install it with pip install 'sads[figures]'\n"
    assert (tmp_path / "r.html").is_file(), run.stderr
