"""The store: whole or not at all, one writer, many readers, versions, CSV and back."""

import sqlite3
import subprocess
import sys
from collections import Counter

import pytest

from sads.errors import ArtefactError, InputError
from sads.storage.files import BusyError, writing
from sads.sweep import load_specification, read_rows, run_sweep
from sads.sweep.describe.plan import Planned, plan_trials
from sads.sweep.store.database import Store
from sads.sweep.store.known_results import index_files
from sads.sweep.store.layout import Layout
from sads.sweep.store.metrics import Metrics
from sads.sweep.store.outcome import Provenance, Timings, TrialResult
from sads.sweep.store.table import read_csv, write_csv

from .small import InProcess, lasting, write_spec


def made_up(planned: Planned, value: float = 1.25) -> TrialResult:
    """A result that nobody computed."""
    return TrialResult(
        id=planned.id,
        trial=planned.trial,
        metrics=Metrics(
            sw2=value,
            standard_error=None,
            msw2=value / 3,
            msw2_optimised=2 * value,
            msw2_null=0.1,
            p_value=0.001,
            projections=64,
            w2_direction=None,
            loss=0.3,
        ),
        timings=Timings(train_seconds=1.0, sample_seconds=0.5, distance_seconds=0.25),
        provenance=Provenance(
            host="h:1",
            device="cpu",
            threads=1,
            finished="2026-01-31T12:00:00+00:00",
            versions={"torch": "2"},
        ),
        code="0.1.0+abc",
        artefact="f" * 64,
        attempt=2,
    )


@pytest.fixture
def plan(tmp_path) -> list[Planned]:
    return plan_trials(load_specification(write_spec(tmp_path)))


@pytest.fixture
def store(tmp_path, plan):
    (tmp_path / "out").mkdir()
    opened = Store(Layout(tmp_path / "out"))
    opened.create(plan, {"trials": sorted(p.id for p in plan)})
    yield opened
    opened.close()


def test_a_result_is_recorded_once(store, plan, tmp_path):
    store.record([made_up(plan[0], 1.25)])
    store.record([made_up(plan[0], 9.0), made_up(plan[1], 2.5)])
    _, rows = read_rows(tmp_path / "out")
    assert [row["id"] for row in rows] == sorted(p.id for p in plan)
    known = {row["id"]: row for row in rows}
    assert known[plan[0].id]["sw2"] == 1.25
    assert known[plan[1].id]["sw2"] == 2.5
    assert Counter(row["status"] for row in rows) == {"done": 2, "pending": 2}
    assert known[plan[0].id]["attempts"] == 2
    assert known[plan[0].id]["versions"] == {"torch": "2"}
    assert known[plan[0].id]["network"] == "mlp,width=8,depth=1"


def test_a_transaction_is_whole_or_nothing(store, plan, tmp_path):
    bad = made_up(plan[1]).model_copy(update={"artefact": object()})
    with pytest.raises(ArtefactError):
        store.record([made_up(plan[0]), bad])
    assert Counter(r["status"] for r in read_rows(tmp_path / "out")[1]) == {"pending": 4}
    store.record([made_up(plan[0])])  # and the store goes on


def test_giving_up_and_forgiving(store, plan):
    store.record([made_up(plan[0])])
    store.give_up(plan[0].id, "failed", "too late", 1)
    store.give_up(plan[1].id, "quarantined", "it died", 4)
    assert Counter(store.statuses().values()) == {"done": 1, "quarantined": 1, "pending": 2}
    assert store.forgive() == 1
    assert Counter(store.statuses().values()) == {"done": 1, "pending": 3}


def test_readers_do_not_stop_the_writer_nor_see_parts(store, plan, tmp_path):
    readers = [
        sqlite3.connect(f"file:{tmp_path}/out/sweep.sqlite?mode=ro", uri=True) for _ in range(5)
    ]
    for reader in readers:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM trials").fetchone()
    store.record([made_up(p) for p in plan])
    count = "SELECT count(*) FROM trials WHERE status = 'done'"
    assert {reader.execute(count).fetchone()[0] for reader in readers} == {0}
    for reader in readers:
        reader.close()
    assert Counter(r["status"] for r in read_rows(tmp_path / "out")[1]) == {"done": 4}


def test_a_sweep_on_a_read_only_disk_can_be_read(store, plan, tmp_path, monkeypatch):
    store.record([made_up(p) for p in plan])
    store.close()
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert len(read_rows(tmp_path / "out")[1]) == 4
    assert not list((tmp_path / "out").glob("*-shm"))


def test_a_sweep_of_somebody_else_can_be_read_while_it_runs(store, plan, tmp_path, monkeypatch):
    store.record([made_up(p) for p in plan])  # in the log, not yet in the database
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert Counter(r["status"] for r in read_rows(tmp_path / "out")[1]) == {"done": 4}


def test_killed_while_it_is_made_a_store_is_not_there(tmp_path, plan, monkeypatch):
    (tmp_path / "out").mkdir()
    store = Store(Layout(tmp_path / "out"))
    with pytest.raises(ArtefactError):
        store.create([plan[0], plan[0]], {})  # the second insertion fails
    assert store.new
    store.create(plan, {})
    assert not store.new
    store.close()


def test_a_store_of_a_newer_version_is_refused(store, tmp_path):
    store.close()
    with sqlite3.connect(tmp_path / "out" / "sweep.sqlite") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ArtefactError, match=r"newer version.*upgrade sads"):
        read_rows(tmp_path / "out")
    with pytest.raises(ArtefactError, match="newer version"):
        run_sweep(tmp_path / "spec.toml", tmp_path / "out", engine=InProcess())


def test_what_is_not_a_store(tmp_path):
    with pytest.raises(ArtefactError, match="no sweep in"):
        read_rows(tmp_path)
    (tmp_path / "sweep.sqlite").write_bytes(b"something else" * 100)
    with pytest.raises(ArtefactError, match="is not a database of a sweep"):
        read_rows(tmp_path)


def test_the_second_driver_is_refused(tmp_path):
    spec = write_spec(tmp_path)
    with writing(tmp_path / "out"), pytest.raises(BusyError, match="another process"):
        run_sweep(spec, tmp_path / "out", engine=InProcess())
    assert not (tmp_path / "out" / "sweep.sqlite").exists()


def test_results_on_disk_that_no_driver_saw_are_indexed(store, plan, tmp_path):
    layout = store.layout
    layout.results.mkdir()
    layout.work(plan[0].id).mkdir(parents=True)
    layout.work(plan[2].id).mkdir(parents=True)
    layout.artefacts.mkdir()
    layout.artefact("f" * 64).touch()
    layout.result(plan[0].id).write_text(made_up(plan[0]).model_dump_json())
    layout.result(plan[1].id).write_text('{"id": "cut of')
    gone = made_up(plan[3]).model_copy(update={"artefact": "e" * 64})
    layout.result(plan[3].id).write_text(gone.model_dump_json())
    index_files(store)
    assert store.statuses()[plan[3].id] == "pending"  # a power cut took its artefact
    assert store.statuses()[plan[0].id] == "done"
    assert store.statuses()[plan[1].id] == "pending"
    assert not layout.result(plan[1].id).exists()
    assert not layout.work(plan[0].id).exists()
    assert layout.work(plan[2].id).exists()  # it may go on from there


def test_another_specification_says_what_differs(tmp_path):
    spec = write_spec(tmp_path)
    run_sweep(spec, tmp_path / "out", engine=InProcess())
    before = (tmp_path / "out" / "sweep.sqlite").read_bytes()
    for change, said in (
        ({"seeds": (0, 1, 2)}, r"seeds was \[0, 1\], now \[0, 1, 2\].*another out=.*seed_from="),
        ({"indices": (0, 6)}, r"grid 1 indices was \[0, 5\], now \[0, 6\]"),
        ({"iterations": 6}, "protocol iterations was 5, now 6"),
    ):
        with pytest.raises(ArtefactError, match=said):
            run_sweep(write_spec(tmp_path, **change), tmp_path / "out", engine=InProcess())
    assert (tmp_path / "out" / "sweep.sqlite").read_bytes() == before
    # Other words for the same trials are the same sweep.
    spec = write_spec(tmp_path, indices=(5, 0))
    assert run_sweep(spec, tmp_path / "out", engine=InProcess()).statuses == {"done": 4}


def test_a_named_file_that_changed_is_named(tmp_path):
    import numpy as np

    array = tmp_path / "x.npy"
    np.save(array, np.random.default_rng(0).standard_normal((60, 16)).astype("f4"))
    spec = write_spec(tmp_path)
    text = spec.read_text().replace("1x4x4", "16")
    text = text.replace('bases = ["dct"]', f'data = ["npy:{array}"]').replace(
        "indices = [0, 5]", ""
    )
    spec.write_text(text)
    run_sweep(spec, tmp_path / "out", engine=InProcess())
    np.save(array, np.zeros((60, 16), "f4"))
    with pytest.raises(ArtefactError, match=f"the content of {array} has changed"):
        run_sweep(spec, tmp_path / "out", engine=InProcess())


def test_a_table_goes_to_csv_and_back_to_the_last_bit(store, plan, tmp_path):
    store.record([made_up(p, 1 / (3 + i)) for i, p in enumerate(plan[:3])])
    _, rows = read_rows(tmp_path / "out")
    write_csv(tmp_path / "table.csv", rows)
    table = read_csv(tmp_path / "table.csv", {p.id: p.trial for p in plan})
    assert {r.id: r.metrics for r in table} == {
        p.id: made_up(p, 1 / (3 + i)).metrics for i, p in enumerate(plan[:3])
    }
    assert all(r.artefact is None for r in table)
    assert read_csv(tmp_path / "table.csv", {plan[0].id: plan[0].trial})[0].id == plan[0].id


def test_known_results_are_not_computed_again(tmp_path):
    spec = write_spec(tmp_path)
    run_sweep(spec, tmp_path / "out", engine=InProcess())
    _, rows = read_rows(tmp_path / "out")
    write_csv(tmp_path / "known.csv", rows)
    larger = write_spec(tmp_path, seeds=(0, 1, 2))
    results = run_sweep(
        larger, tmp_path / "larger", engine=InProcess(), seed_from=tmp_path / "known.csv"
    )
    assert results.statuses == {"done": 6}
    assert len(list((tmp_path / "larger" / "artefacts").iterdir())) == 2  # only the new ones
    assert len(list((tmp_path / "larger" / "results").iterdir())) == 6
    again = [row for row in read_rows(tmp_path / "larger")[1] if row["seed"] != 2]
    for row in rows:
        row["artefact"] = None
    assert lasting(again) == lasting(rows)


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "no such file"), ("a,b\n1,2\n", "not a table"), ("", "not a table")],
)
def test_a_csv_that_is_none(tmp_path, text, said):
    path = tmp_path / "x.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=said):
        run_sweep(write_spec(tmp_path), tmp_path / "out", engine=InProcess(), seed_from=path)
    assert not (tmp_path / "out").exists()


def test_a_csv_with_a_row_that_cannot_be_read(tmp_path, store, plan):
    store.record([made_up(p) for p in plan])
    write_csv(tmp_path / "x.csv", read_rows(tmp_path / "out")[1])
    text = (tmp_path / "x.csv").read_text()
    (tmp_path / "x.csv").write_text(text.replace("1.25", "1.26", 1))
    with pytest.raises(InputError, match=r"row 1 cannot be read: expected the checksum"):
        read_csv(tmp_path / "x.csv", {p.id: p.trial for p in plan})
    unsealed = "\n".join(line.rpartition(",")[0] for line in text.splitlines())
    trials = {p.id: p.trial for p in plan}
    (tmp_path / "x.csv").write_text(unsealed)
    assert len(read_csv(tmp_path / "x.csv", trials)) == 4
    for old, new, said in (
        ("1.25", "much", "sw2"),
        ("1.25", "-1.25", "sw2"),
        ("1.25", "nan", "sw2"),
        ("0.001", "1.5", "p_value"),
        ("2026-01-31", "2026-02-31", "finished"),
        ("done", "dome", "a status, got 'dome'"),
        ("cpu,", "", "a cell for each column"),
        ("train_seconds", "other", "the columns train_seconds"),
    ):
        (tmp_path / "x.csv").write_text(unsealed.replace(old, new))
        with pytest.raises(InputError, match=rf"row 1 cannot be read: .*{said}"):
            read_csv(tmp_path / "x.csv", trials)


def test_ten_thousand_trials_are_read_without_torch_or_numpy(tmp_path):
    spec = write_spec(tmp_path, indices=range(16), seeds=range(625))
    plan = plan_trials(load_specification(spec))
    assert len(plan) == 10_000
    (tmp_path / "out").mkdir()
    store = Store(Layout(tmp_path / "out"))
    store.create(plan, {"trials": sorted(p.id for p in plan)})
    store.record([made_up(p) for p in plan])
    store.close()
    command = [sys.executable, "-X", "importtime", "-m", "sads", "results", str(tmp_path / "out")]
    for options in (["--json"], ["--csv", str(tmp_path / "x.csv")]):
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
        loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
        assert "sads.sweep.store.database" in loaded
        assert not {"torch", "numpy", "sads.api"} & loaded
