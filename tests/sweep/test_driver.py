"""The driver: retries, quarantine, pauses, interruptions; workers misbehave on purpose."""

import os
import resource
import signal
import threading
import time
from collections import Counter

import numpy as np
import pytest

from sads.errors import ArtefactError
from sads.execution.local import EngineError, WorkerLostError
from sads.sweep import read_rows, run_sweep
from sads.sweep.execute import driver
from sads.sweep.execute.driver import PausedError
from sads.sweep.execute.run_job import run_job
from sads.sweep.store.database import Store
from sads.sweep.store.outcome import Failure, Job, Outcome

from .small import InProcess, lasting, write_spec


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """Run a small sweep in this process, with some function in place of `run_job`."""
    spec = write_spec(tmp_path)

    def run(function=run_job, out="out", engine=None, **options) -> Counter:
        monkeypatch.setattr(driver, "run_job", function)
        place = engine or InProcess()
        return run_sweep(spec, tmp_path / out, engine=place, **options).statuses

    run.out = tmp_path / "out"
    run.spec = spec
    return run


def statuses(out) -> Counter:
    return Counter(row["status"] for row in read_rows(out)[1])


def failing(times: int, make, which: int = 5):
    """Runs jobs, but those of one index fail at their first attempts."""
    seen = Counter()

    def function(text: str) -> str:
        job = Job.model_validate_json(text)
        if job.trial.data.indices == (which,) and seen[job.id] < times:
            seen[job.id] += 1
            return make(job)
        return run_job(text)

    return function


def lose_worker(job: Job) -> str:
    raise WorkerLostError("its worker died (signal 9)")


def say(kind: str, error: str):
    return lambda job: Outcome(failure=Failure(id=job.id, kind=kind, error=error)).model_dump_json()


def test_a_sweep_runs_to_its_end_and_again_does_nothing(sweep):
    assert sweep() == {"done": 4}
    assert not list((sweep.out / "work").iterdir())
    before = read_rows(sweep.out)
    assert sweep(say("final", "must not run")) == {"done": 4}
    assert read_rows(sweep.out) == before


def test_workers_that_die_now_and_then_cost_only_attempts(sweep):
    assert sweep(out="whole") == {"done": 4}
    assert sweep(failing(3, lose_worker)) == {"done": 4}
    _, rows = read_rows(sweep.out)
    assert sorted(row["attempts"] for row in rows) == [1, 1, 4, 4]
    assert lasting(rows) == lasting(read_rows(sweep.out.parent / "whole")[1])


def test_a_trial_that_always_kills_its_worker_is_quarantined_and_the_rest_goes_on(sweep):
    assert sweep(failing(99, lose_worker)) == {"done": 2, "quarantined": 2}
    poisoned = [row for row in read_rows(sweep.out)[1] if row["status"] == "quarantined"]
    assert {row["data"] for row in poisoned} == {"rank-one:dct:5"}
    assert {row["attempts"] for row in poisoned} == {4}
    assert all("signal 9" in row["error"] for row in poisoned)
    # It stays aside until somebody asks for it.
    assert sweep() == {"done": 2, "quarantined": 2}
    assert sweep(retry_failed=True) == {"done": 4}


def test_many_deaths_at_once_count_as_many(sweep):
    def lose_four(job: Job) -> str:
        raise WorkerLostError("its dask worker died", deaths=4)

    assert sweep(failing(1, lose_four)) == {"done": 2, "quarantined": 2}


def test_passing_errors_are_tried_again_up_to_a_limit(sweep):
    assert sweep(failing(3, say("passing", "no memory"))) == {"done": 4}
    assert sweep(failing(99, say("passing", "no memory")), out="b", retries=1)["failed"] == 2
    rows = [r for r in read_rows(sweep.out.parent / "b")[1] if r["status"] == "failed"]
    assert {(row["error"], row["attempts"]) for row in rows} == {("no memory", 2)}


def test_a_final_error_is_not_tried_again(sweep):
    calls = []

    def count(job: Job) -> str:
        calls.append(job.id)
        return say("final", "it diverged")(job)

    assert sweep(failing(99, count)) == {"done": 2, "failed": 2}
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        ("disk", "no space", "the sweep is paused: no space; the same command resumes it"),
        ("setup", "host b has other code", "the sweep has stopped: host b has other code"),
    ],
)
def test_a_sweep_that_cannot_go_on_stops_and_blames_nobody(sweep, kind, error, said):
    with pytest.raises(PausedError, match=said):
        sweep(failing(1, say(kind, error)))
    assert set(statuses(sweep.out)) <= {"done", "pending"}
    assert sweep() == {"done": 4}


def test_a_database_that_cannot_grow_pauses_the_sweep(sweep, monkeypatch):
    real = Store.record

    def full(self, results):
        if results:
            raise ArtefactError("sweep.sqlite: database or disk is full")
        real(self, results)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "record", full)
        with pytest.raises(PausedError, match=r"paused: .*disk is full.*same command"):
            sweep()
    # The worker's own file is there: the result is not lost.
    assert sweep() == {"done": 4}
    assert {row["attempts"] for row in read_rows(sweep.out)[1]} == {1}


def test_an_engine_that_is_gone_stops_the_sweep(sweep):
    def gone(job: Job) -> str:
        raise EngineError("the dask scheduler is gone")

    with pytest.raises(EngineError, match="scheduler is gone"):
        sweep(failing(1, gone))
    assert sweep() == {"done": 4}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_ends_in_order(sweep, number):
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    def interrupt(text: str) -> str:
        os.kill(os.getpid(), number)
        time.sleep(0.5)
        return run_job(text)

    with pytest.raises(KeyboardInterrupt):
        sweep(interrupt)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert statuses(sweep.out)["pending"] >= 3
    assert sweep() == {"done": 4}


def test_a_sweep_can_be_driven_from_a_thread(sweep):
    statuses = []
    thread = threading.Thread(target=lambda: statuses.append(sweep()))
    thread.start()
    thread.join()
    assert statuses == [{"done": 4}]


def test_progress_is_told(sweep):
    seen = []
    sweep(on_progress=seen.append)
    assert [p.counts["done"] for p in seen] == sorted(p.counts["done"] for p in seen)
    assert seen[-1].counts == {"done": 4}
    assert any("mlp,width=8,depth=1 on rank-one:dct:" in name for p in seen for name in p.running)
    assert seen[-1].seconds_left == 0
    assert any(p.seconds_left for p in seen)


def test_a_named_file_that_changes_in_the_middle_stops_the_sweep(tmp_path, sweep):
    array = tmp_path / "x.npy"
    np.save(array, np.random.default_rng(0).standard_normal((60, 16)).astype("f4"))
    text = sweep.spec.read_text().replace("1x4x4", "16").replace("indices = [0, 5]", "")
    sweep.spec.write_text(text.replace('bases = ["dct"]', f'data = ["npy:{array}"]'))

    def change(text: str) -> str:
        """Before the worker can take the next trial."""
        try:
            return run_job(text)
        finally:
            np.save(array, np.ones((60, 16), "f4"))

    with pytest.raises(PausedError, match="has changed since the sweep began"):
        sweep(change)
    assert statuses(sweep.out) == {"done": 1, "pending": 1}


@pytest.mark.parametrize("size", [30_000, 60_000])
def test_no_file_may_grow_and_nothing_is_corrupt(tmp_path, size):
    """A disk that fills up, as SQLite and the workers see it."""
    spec = write_spec(tmp_path, indices=range(8), seeds=range(3))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        with pytest.raises((PausedError, ArtefactError)) as caught:
            run_sweep(spec, tmp_path / "out", engine=InProcess())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "\n" not in str(caught.value)
    assert run_sweep(spec, tmp_path / "out", engine=InProcess()).statuses == {"done": 24}
    assert not list((tmp_path / "out").rglob("*.tmp"))
