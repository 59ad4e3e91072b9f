"""Artefacts of the first version of the random draws: read and used, but never continued.

`golden/draws-1` was written before streams had names: a finished and an unfinished geometry, a
training of three steps, a sweep with one finished trial and the checkpoint of another.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

import sads
from sads import api
from sads.data import Dataset
from sads.diffusion import Trained, read_training
from sads.errors import ArtefactError
from sads.foundation.versions import DRAWS
from sads.geometry import load_geometry
from sads.presentation.sweep import sentences
from sads.sweep import Trial, run_sweep
from sads.sweep.describe.plan import plan_trials
from sads.sweep.describe.specification import load_specification
from sads.sweep.execute.run_sweep import _pending
from sads.sweep.store.database import read_facts, read_rows
from sads.sweep.store.layout import Layout
from sads.sweep.store.outcome import TrialResult
from sads.sweep.store.table import write_csv
from tests.sweep.small import InProcess

GOLDEN = Path(__file__).parent / "golden" / "draws-1"
NETWORK, SHAPE = "mlp,width=8,depth=1", "1x4x4"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the old artefacts that a test may change."""
    shutil.copytree(GOLDEN, tmp_path / "old")
    return tmp_path / "old"


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below a directory; locks come and go."""
    files = (path for path in directory.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_an_old_geometry_is_read_and_used_as_it_is(old: Path) -> None:
    before = contents(old)
    geometry = load_geometry(old / "geometry")
    assert (geometry.plan.draws, geometry.networks) == (1, 64)
    fresh = sads.estimate_geometry(NETWORK, shape=SHAPE, networks=64)
    assert fresh.plan.draws == DRAWS
    # The fingerprint is that of the network and not that of its draws.
    assert fresh.plan.fingerprint == geometry.plan.fingerprint
    again = sads.estimate_geometry(NETWORK, shape=SHAPE, networks=64, out=old / "geometry")
    assert again.plan.draws == 1
    assert np.array_equal(again.factor, geometry.factor)
    assert contents(old) == before


def test_a_new_geometry_says_its_version_and_is_continued(tmp_path: Path) -> None:
    for count in (48, 64):
        sads.estimate_geometry(NETWORK, shape=SHAPE, networks=count, out=tmp_path / "new")
    assert load_geometry(tmp_path / "new").plan.draws == DRAWS


@pytest.mark.parametrize(
    ("name", "networks"),
    [("unfinished-geometry", 64), ("unfinished-geometry", 40), ("geometry", 128)],
)
def test_an_old_geometry_is_not_continued(old: Path, name: str, networks: int) -> None:
    before = contents(old)
    with pytest.raises(
        ArtefactError, match=r"version 1 of the random draws.*cannot continue"
    ) as no:
        sads.estimate_geometry(NETWORK, shape=SHAPE, networks=networks, out=old / name)
    assert "\n" not in str(no.value)
    assert contents(old) == before


def train(out: Path, iterations: int) -> Trained:
    data = Dataset(np.load(GOLDEN / "data.npy"), "golden")
    settings = {"iterations": iterations, "batch_size": 8}
    return api.train(NETWORK, data, shape=SHAPE, out=out, **settings)


def test_an_old_training_is_used_but_not_continued(old: Path) -> None:
    before = contents(old)
    header, tensors = read_training(old / "training")
    assert (header.draws, header.step) == (1, 3)
    finished = train(old / "training", 3)
    assert finished.losses.tolist() == pytest.approx(tensors["losses"].tolist())
    assert api.sample(old / "training", 2, steps=2).shape == (2, 1, 4, 4)
    with pytest.raises(ArtefactError, match=r"version 1 of the random draws.*cannot continue"):
        train(old / "training", 6)
    assert contents(old) == before


def test_a_new_training_goes_on_bit_for_bit(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", 6)
    train(tmp_path / "parts", 3)
    parts = train(tmp_path / "parts", 6)
    assert parts.losses.tolist() == whole.losses.tolist()
    assert read_training(tmp_path / "parts")[0].draws == DRAWS
    assert whole.losses.tolist()[:3] != read_training(GOLDEN / "training")[1]["losses"].tolist()


def test_an_old_sweep_keeps_its_results_and_begins_the_rest_anew(old: Path) -> None:
    out, spec = old / "sweep", old / "spec.toml"
    _, before = read_rows(out)
    assert {row["draws"] for row in before} == {1}
    (done,) = (row for row in before if row["status"] == "done")
    (pending,) = _pending(Layout(out), plan_trials(load_specification(spec)))
    assert pending.trial.draws == DRAWS
    assert run_sweep(spec, out, engine=InProcess()).statuses == {"done": 2}
    facts, after = read_rows(out)
    kept, new = sorted(after, key=lambda row: row["draws"])
    assert kept == done
    assert (new["draws"], new["seed"]) == (DRAWS, 1)
    assert facts["trials"] == sorted((kept["id"], new["id"]))
    assert not list((out / "work").iterdir())  # nor did it go on from the old checkpoint
    assert "1 of version 1 and 1 of version 2" in sentences(after)[-1]
    # Bit for bit what a new sweep gives.
    run_sweep(spec, old / "fresh", engine=InProcess())
    fresh = {row["id"]: row for row in read_rows(old / "fresh")[1]}
    assert fresh[new["id"]]["sw2"] == new["sw2"]
    # The same command finds everything done, and another specification is still refused.
    assert run_sweep(spec, out, engine=InProcess()).statuses == {"done": 2}
    spec.write_text(spec.read_text().replace("seeds = [0, 1]", "seeds = [0, 2]"))
    with pytest.raises(ArtefactError, match=r"seeds was \[0, 1\], now \[0, 2\]"):
        run_sweep(spec, out, engine=InProcess())


def test_an_old_result_that_no_driver_saw_still_counts(old: Path) -> None:
    out = old / "sweep"
    (path,) = (out / "results").iterdir()
    result = TrialResult.model_validate_json(path.read_bytes())
    (pending,) = (row for row in read_rows(out)[1] if row["status"] == "pending")
    other = result.trial.model_copy(update={"seed": 1})
    assert other.identity() == pending["id"]
    unseen = result.model_copy(update={"id": pending["id"], "trial": other})
    (out / "results" / f"{pending['id']}.json").write_text(unseen.model_dump_json())
    assert run_sweep(old / "spec.toml", out, engine=InProcess()).statuses == {"done": 2}
    assert {row["draws"] for row in read_rows(out)[1]} == {1}


def test_old_rows_count_as_results_of_their_version(old: Path) -> None:
    _, rows = read_rows(old / "sweep")
    for row in rows:
        del row["draws"]  # as tables were before
    table, out = old / "known.csv", old / "new"
    write_csv(table, rows)
    assert run_sweep(old / "spec.toml", out, engine=InProcess(), seed_from=table).statuses == {
        "done": 2
    }
    by_seed = {row["seed"]: row for row in read_rows(out)[1]}
    assert (by_seed[0]["draws"], by_seed[1]["draws"]) == (1, DRAWS)
    assert by_seed[0]["sw2"] == next(row["sw2"] for row in rows if row["status"] == "done")
    assert by_seed[0]["artefact"] is None  # it was not trained again
    assert by_seed[1]["artefact"] is not None
    # Where there is a result of either version, the newer one is taken.
    run_sweep(old / "spec.toml", old / "fresh", engine=InProcess())
    both = [*read_rows(old / "sweep")[1], *read_rows(old / "fresh")[1]]
    write_csv(table, both)
    run_sweep(old / "spec.toml", old / "newest", engine=InProcess(), seed_from=table)
    assert {row["draws"] for row in read_rows(old / "newest")[1]} == {DRAWS}


def test_a_pending_trial_of_a_known_sweep_takes_an_old_row(old: Path, tmp_path: Path) -> None:
    class Stopped(InProcess):
        def submit(self, function, text):
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_sweep(old / "spec.toml", out, engine=Stopped())
    write_csv(tmp_path / "known.csv", read_rows(old / "sweep")[1])
    run_sweep(old / "spec.toml", out, engine=InProcess(), seed_from=tmp_path / "known.csv")
    assert {row["seed"]: row["draws"] for row in read_rows(out)[1]} == {0: 1, 1: DRAWS}
    assert read_facts(Layout(out))["trials"] == [row["id"] for row in read_rows(out)[1]]


def test_the_version_is_part_of_a_trials_identity() -> None:
    (path,) = (GOLDEN / "sweep" / "results").iterdir()
    old = TrialResult.model_validate_json(path.read_bytes()).trial
    assert old.draws == 1
    assert old.identity() == path.stem
    new = old.model_copy(update={"draws": DRAWS})
    assert new.identity() != old.identity()
    assert Trial.model_validate_json(new.model_dump_json()).identity() == new.identity()
