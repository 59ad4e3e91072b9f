"""Damage to the files of a sweep: the result files are the truth, the database is their index."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from sads.errors import ArtefactError
from sads.foundation.versions import DRAWS
from sads.sweep import read_rows, run_sweep
from sads.sweep.execute.run_job import run_job
from sads.sweep.store.database import Store
from sads.sweep.store.layout import Layout, read_published
from sads.sweep.store.outcome import read_result
from sads.sweep.store.table import write_csv

from .small import InProcess, lasting, write_spec

GOLDEN = Path(__file__).parents[1] / "golden" / "sweep-1"


class NoEngine(InProcess):
    """Where nothing may be run."""

    def submit(self, fn, /, *args):
        raise AssertionError("a trial was run")


def overwrite(path: Path) -> None:
    path.write_bytes(b"no database" * 100)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def empty_page(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + bytes(4096) + content[8192:])


def change(*statements: str):
    def damage(path: Path) -> None:
        connection = sqlite3.connect(path)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    return damage


DAMAGE = {
    "overwritten": overwrite,
    "truncated": truncate,
    "empty page": empty_page,
    "a value": change("UPDATE trials SET sw2 = sw2 + 1"),
    "a status": change("UPDATE trials SET status = 'pending'"),
    "a lost row": change("DELETE FROM trials WHERE number = 0"),
    "a lost table": change("DROP TABLE trials"),
    "a lost column": change("ALTER TABLE trials DROP COLUMN provenance"),
    "no version": change("PRAGMA user_version = 0"),
    "other facts": change("UPDATE sweep SET value = '\"x\"' WHERE key = 'code'"),
    "lost facts": change("DELETE FROM sweep WHERE key = 'checksum'"),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("finished")
    spec = write_spec(place, indices=(0,))
    run_sweep(spec, place / "out", engine=InProcess())
    return place


@pytest.fixture
def place(finished, tmp_path) -> Path:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_database_is_made_again_from_the_results(place, damage):
    out = place / "out"
    _, before = read_rows(out)
    DAMAGE[damage](out / "sweep.sqlite")
    with pytest.raises(ArtefactError, match="makes it again from the result files") as refused:
        read_rows(out)
    assert len(str(refused.value).splitlines()) == 1
    assert run_sweep(place / "spec.toml", out, engine=NoEngine()).statuses == {"done": 2}
    assert read_rows(out)[1] == before
    assert (out / "sweep.sqlite.damaged").is_file()  # nothing is thrown away


def test_a_damaged_value_locks_nobody_out_while_its_error_is_remembered(place):
    path = place / "out" / "sweep.sqlite"
    own = sqlite3.connect(path, isolation_level=None)
    own.execute("UPDATE trials SET error = CAST(x'ff' AS TEXT)")
    own.close()
    with pytest.raises(ArtefactError, match="is damaged") as remembered:
        read_rows(path.parent)
    other = sqlite3.connect(path, timeout=0)  # leaving the log wants it for itself
    assert other.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    other.close()
    assert remembered.value.__traceback__ is not None


def test_a_damaged_result_is_computed_again(place):
    out = place / "out"
    _, before = read_rows(out)
    path = sorted((out / "results").iterdir())[0]
    path.write_bytes(path.read_bytes().replace(b'"sw2": 1', b'"sw2": 2'))
    with pytest.raises(ArtefactError, match="checksum does not match"):
        read_result(path)
    overwrite(out / "sweep.sqlite")
    assert run_sweep(place / "spec.toml", out, engine=InProcess()).statuses == {"done": 2}
    assert lasting(read_rows(out)[1]) == lasting(before)


def test_a_worker_does_not_believe_a_damaged_result(place):
    from .test_run import TRIAL, job

    asked = job(place / "one")
    path = Layout(place / "one").result(TRIAL.identity())
    path.parent.mkdir()
    path.write_text('{"id": "half a resu')
    run_job(asked.model_dump_json())
    assert read_result(path).id == TRIAL.identity()


def test_results_from_a_table_outlive_the_database(place):
    write_csv(place / "known.csv", read_rows(place / "out")[1])
    new = place / "new"
    run_sweep(place / "spec.toml", new, engine=NoEngine(), seed_from=place / "known.csv")
    _, before = read_rows(new)
    overwrite(new / "sweep.sqlite")
    assert run_sweep(place / "spec.toml", new, engine=NoEngine()).statuses == {"done": 2}
    assert read_rows(new)[1] == before


def test_results_of_older_draws_outlive_the_database(tmp_path):
    """A finished trial of the first draws stays; the other one is run with the present ones."""
    shutil.copytree(GOLDEN.parent / "draws-1", tmp_path, dirs_exist_ok=True)
    out = tmp_path / "sweep"
    [old] = [row for row in read_rows(out)[1] if row["status"] == "done"]
    overwrite(out / "sweep.sqlite")
    assert run_sweep(tmp_path / "spec.toml", out, engine=InProcess()).statuses == {"done": 2}
    rows = read_rows(out)[1]
    assert old in rows
    assert sorted(row["draws"] for row in rows) == [1, DRAWS]


def test_a_database_of_the_first_version_is_brought_to_this_one(tmp_path):
    shutil.copytree(GOLDEN, tmp_path, dirs_exist_ok=True)
    before = read_rows(tmp_path)
    Store(Layout(tmp_path)).close()
    assert read_rows(tmp_path) == before
    change("UPDATE trials SET sw2 = sw2 + 1")(tmp_path / "sweep.sqlite")
    with pytest.raises(ArtefactError, match="the checksum of the trial"):
        read_rows(tmp_path)


def test_an_artefact_is_known_by_its_content(place):
    layout = Layout(place / "out")
    digest = read_rows(place / "out")[1][0]["artefact"]
    assert "samples" in read_published(layout, digest)
    content = layout.artefact(digest).read_bytes()
    layout.artefact(digest).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ArtefactError, match="another digest than its name"):
        read_published(layout, digest)
    layout.artefact(digest).unlink()
    with pytest.raises(ArtefactError, match="cannot read"):
        read_published(layout, digest)
