"""Artefacts that earlier versions wrote are read as they were meant; see tests/golden."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from sads.alignment import load_rotation
from sads.diffusion import read_training, stored_rotation
from sads.geometry import load_geometry
from sads.geometry.spectra import read_kept
from sads.specs.digests import path_digest as digest
from sads.sweep.store.database import read_rows
from sads.sweep.store.outcome import read_result
from sads.sweep.store.table import read_csv

GOLDEN = Path(__file__).parent / "golden"
VERSIONS = pytest.mark.parametrize("version", [1, 2])
TRIAL = "8e4bff85684f8b3a"
TABLES = [
    path
    for path in sorted((GOLDEN.parents[1] / "docs" / "results").glob("*.csv"))
    if {"id", "status", "sw2"} <= set(path.read_text().partition("\n")[0].split(","))
]


@VERSIONS
def test_geometry(version):
    geometry = load_geometry(GOLDEN / f"geometry-{version}")
    assert geometry.plan.network == "cnn"
    assert geometry.plan.timesteps == (0, 50)
    assert geometry.networks == 48
    assert geometry.state.finished
    expected = [0.8688761617857251, 0.11524349078934822, 0.11524349078934822, 0.04043634307516413]
    assert geometry.spectrum().factor_values == pytest.approx(expected, rel=1e-9)


def test_a_spectrum_of_the_first_format_is_computed_again():
    geometry = load_geometry(GOLDEN / "geometry-1")
    assert read_kept(GOLDEN / "geometry-1", geometry.plan, geometry.state) is None


@VERSIONS
def test_closed_form(version):
    geometry = load_geometry(GOLDEN / f"closed-form-{version}")
    assert geometry.exact
    assert geometry.spectrum().eigenvalues / 4.78776634726625 == pytest.approx([8, 5, 3, 2, 1, 1])


@VERSIONS
def test_rotation(version):
    rotation = load_rotation(GOLDEN / f"rotation-{version}")
    assert (rotation.origin.kind, rotation.origin.seed, rotation.origin.shape) == (
        "random",
        3,
        (2, 2, 2),
    )
    expected = [0.82465458, 0.02384948, 0.06038648, -0.20462897]
    assert rotation.matrix[0, :4].tolist() == pytest.approx(expected, abs=1e-7)


@VERSIONS
def test_training(version):
    header, tensors = read_training(GOLDEN / f"training-{version}")
    assert (header.network, header.schedule, header.steps, header.step) == ("mlp", "linear", 50, 3)
    assert header.settings.batch_size == 5
    expected = torch.tensor([1.1394661664962769, 1.096577763557434, 0.8041979074478149])
    torch.testing.assert_close(tensors["losses"].float(), expected)
    rotation = stored_rotation(
        GOLDEN / f"training-{version}", read_training(GOLDEN / f"training-{version}")[0]
    )
    assert rotation is not None
    assert np.array_equal(rotation.matrix, load_rotation(GOLDEN / f"rotation-{version}").matrix)


@VERSIONS
def test_what_trials_know_files_by(version):
    """The identities of trials that name a geometry or a rotation stay what they were."""
    assert digest(GOLDEN / f"geometry-{version}") == "sha256-d456e4b007d7b67855daa2cc0d0b1fe7"
    assert digest(GOLDEN / f"closed-form-{version}") == "sha256-0e7a63ec3fc974deae1baa5bd58f9a1d"
    assert digest(GOLDEN / f"rotation-{version}") == "sha256-ef233c8b4c65b8da9133555e3efdd502"


def test_what_is_stored_again_is_the_same_to_trials(tmp_path):
    for name in ("geometry", "closed-form"):
        load_geometry(GOLDEN / f"{name}-1").save(tmp_path / name)
        assert digest(tmp_path / name) == digest(GOLDEN / f"{name}-1")
    load_rotation(GOLDEN / "rotation-1").save(tmp_path)
    assert digest(tmp_path) == digest(GOLDEN / "rotation-1")


@VERSIONS
def test_sweep(tmp_path, version):
    # A copy, since reading leaves files of SQLite behind.
    shutil.copytree(GOLDEN / f"sweep-{version}", tmp_path / "sweep")
    facts, rows = read_rows(tmp_path / "sweep")
    assert facts["trials"] == [row["id"] for row in rows]
    assert [(row["seed"], row["sw2"]) for row in rows] == [
        (1, 164.643138976074),
        (0, 173.44782113052338),
    ]


@VERSIONS
def test_result_and_row(version):
    result = read_result(GOLDEN / f"sweep-{version}" / "results" / f"{TRIAL}.json")
    assert result.metrics.sw2 == 164.643138976074
    [row] = read_csv(GOLDEN / f"sweep-{version}" / "rows.csv", {TRIAL: result.trial})
    assert row == result.model_copy(update={"artefact": None})


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_published_rows(path):
    """Tables of results under docs/results, made before lines had checksums, are taken over."""
    with open(path, encoding="utf-8", newline="") as file:
        done = [row for row in csv.DictReader(file) if row["status"] == "done"]
    trial = read_result(GOLDEN / "sweep-1" / "results" / f"{TRIAL}.json").trial
    rows = read_csv(path, dict.fromkeys((row["id"] for row in done), trial))
    published = [(row["id"], float(row["sw2"]) if row["sw2"] else None) for row in done]
    assert [(result.id, result.metrics.sw2) for result in rows] == published
    assert rows
