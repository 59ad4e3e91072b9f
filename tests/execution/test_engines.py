"""Every engine passes the same tests: calls, deaths, threads, the end."""

import os
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from pathlib import Path

import psutil
import pytest

from sads.errors import InputError
from sads.execution.engines import DaskEngine, Engine, LocalEngine, make_engine
from sads.execution.local import EngineError, WorkerLostError

from .calls import die, fail, faults, shout, threads, who

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=["local", "dask"])
def engine(request, tmp_path_factory):
    """Starting processes takes seconds: all tests of an engine share two workers."""
    log = tmp_path_factory.mktemp("engine") / "workers.log"
    made = make_engine(request.param, workers=2, log=log)
    yield made
    made.close()


def test_calls_come_back(engine: Engine):
    texts = [f"text {i}" for i in range(20)]
    futures = [engine.submit(shout, text) for text in texts]
    assert [future.result(timeout=300) for future in futures] == [text.upper() for text in texts]


def test_calls_run_side_by_side_in_other_processes(engine: Engine):
    assert engine.slots == 2
    futures = [engine.submit(who, "1.0") for _ in range(2)]
    workers = {future.result(timeout=300) for future in futures}
    assert len(workers) == 2
    assert str(os.getpid()) not in workers


def test_a_worker_has_one_torch_thread(engine: Engine):
    assert engine.submit(threads, "").result(timeout=300) == "1"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no mallopt")
def test_a_worker_keeps_the_memory_that_it_frees(engine: Engine):
    """Ten blocks of 8 MB are 20,000 pages, each cleared anew where memory is given back."""
    assert int(engine.submit(faults, str(2**20)).result(timeout=300)) < 5_000


def test_a_worker_that_dies_harms_only_its_own_call(engine: Engine):
    beside = engine.submit(who, "1.0")
    time.sleep(0.3)
    dead = engine.submit(die, "")
    lost = engine.lost(dead.exception(timeout=300))
    assert isinstance(lost, WorkerLostError)
    assert lost.deaths == 1
    assert "died" in str(lost)
    assert beside.result(timeout=300)
    assert engine.submit(shout, "and on").result(timeout=300) == "AND ON"


def test_an_error_that_is_not_a_death_stops_the_sweep(engine: Engine):
    error = engine.submit(fail, "broken installation").exception(timeout=300)
    with pytest.raises(EngineError, match="broken installation"):
        engine.lost(error)
    assert engine.submit(shout, "and on").result(timeout=300) == "AND ON"


SCRIPT = """
import sys
from sads.execution.engines import make_engine
from tests.execution.calls import who
if __name__ == "__main__":
    engine = make_engine("{name}", workers=2)
    busy = [engine.submit(who, "600") for _ in range(2)]
    if "{name}" == "local":
        import time
        while len(engine.executor._alive) < 2: time.sleep(0.05)
    print("busy", flush=True)
    busy[0].result()
"""


@pytest.mark.parametrize("name", ["local", "dask"])
def test_no_worker_outlives_its_driver(name):
    driver = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(name=name)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,  # where `tests` is found, wherever another test has gone
    )
    assert driver.stdout.readline() == "busy\n"
    workers = psutil.Process(driver.pid).children(recursive=True)
    assert len(workers) >= 2
    driver.kill()
    driver.wait()
    driver.stdout.close()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive


def test_workers_that_cannot_start_are_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    engine = LocalEngine(1, log=tmp_path / "log")
    error = engine.submit(shout, "x").exception(timeout=20)
    with pytest.raises(EngineError, match="cannot be started"):
        engine.lost(error)
    engine.close()


def test_a_gpu_is_asked_of_the_scheduler(monkeypatch):
    asked = {}

    class Client:
        cluster = None

        def get_executor(self, **options):
            asked.update(options)

    monkeypatch.setattr("sads.execution.engines._client", lambda address, workers, gpu: Client())
    DaskEngine(None, 1, "cuda")
    assert asked == {"pure": False, "resources": {"GPU": 1}}
    asked.clear()
    DaskEngine("tcp://somewhere:1", 1, "cpu")
    assert asked == {"pure": False}


def test_an_existing_scheduler_is_used_and_its_workers_are_counted():
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        engine = make_engine(f"dask:{cluster.scheduler_address}")
        assert engine.slots == 3
        futures = [engine.submit(shout, text) for text in ("a", "b")]
        assert [future.result(timeout=300) for future in futures] == ["A", "B"]
        engine.close()
        # It is not ours: it goes on without us.
        again = make_engine(f"dask:{cluster.scheduler_address}", workers=1)
        assert again.slots == 1
        assert again.submit(shout, "c").result(timeout=300) == "C"
        again.close()


def test_a_scheduler_that_goes_away_stops_the_sweep():
    from distributed import LocalCluster

    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    engine = make_engine(f"dask:{cluster.scheduler_address}")
    busy = engine.submit(who, "5")
    cluster.close()
    error: BaseException | None = None
    try:
        error = busy.exception(timeout=300)
    except CancelledError as cancelled:
        error = cancelled
    with pytest.raises(EngineError, match="scheduler is gone"):
        engine.lost(error)
    engine.close()


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("slurm", {}, "local, dask or dask:ADDRESS"),
        ("dask:", {}, "local, dask or dask:ADDRESS"),
        ("local", {"workers": 0}, "at least 1 worker"),
        ("dask:tcp://127.0.0.1:9", {}, "no dask scheduler at tcp://127.0.0.1:9"),
    ],
)
def test_engines_that_do_not_exist(name, options, said, monkeypatch):
    monkeypatch.setattr("sads.execution.engines.CONNECT_TIMEOUT", "1s")
    with pytest.raises(InputError, match=said):
        make_engine(name, **options)


def test_dask_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'sads\[cluster\]'"):
        make_engine("dask", workers=1)
