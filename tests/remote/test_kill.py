"""Geometries by real processes: `kill -9` of the driver or of any worker changes no bit."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import sads
from sads.geometry import load_geometry
from sads.geometry.running_sums import State

UNET = "iddpm-16,channels=8,groups=4,mults=1x1"
NETWORKS = 3000


@pytest.fixture(scope="module")
def whole():
    """What one process gets."""
    return sads.estimate_geometry(UNET, shape="1x8x8", networks=NETWORKS).state


class Victim:
    """A command that estimates a geometry, in a process of its own."""

    def __init__(self, out: Path, engine: str, workers: int):
        self.command = [sys.executable, "-m", "sads", "geometry", UNET, "--shape", "1x8x8"]
        self.command += ["--networks", str(NETWORKS), "--out", str(out), "--json"]
        self.command += ["--engine", engine, "--workers", str(workers)]
        self.out = out
        self.start()

    def start(self) -> None:
        self.driver = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def workers(self) -> list[psutil.Process]:
        """Processes that compute batches, of either engine; a dask worker has a nanny."""
        marks = ("sads.execution.worker", "spawn_main")
        try:
            children = psutil.Process(self.driver.pid).children(recursive=True)
            return [
                c for c in children if any(m in " ".join(c.cmdline()) for m in marks) and _busy(c)
            ]
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            return []

    def wait_for_workers(self, count: int) -> list[psutil.Process]:
        while len(reached := self.workers()) < count and self.driver.poll() is None:
            time.sleep(0.05)
        return reached

    def finished(self) -> dict:
        said, errors = self.driver.communicate(timeout=300)
        assert self.driver.returncode == 0, errors
        return json.loads(said)


def _busy(process: psutil.Process) -> bool:
    """Whether it has torch loaded and computes."""
    return process.memory_info().rss > 200 * 2**20


def check_bits(victim: Victim, whole: State) -> None:
    said = victim.finished()
    assert said["networks"] == NETWORKS
    reached = load_geometry(victim.out).state
    assert np.array_equal(reached.sums, whole.sums)
    assert np.array_equal(reached.counts, whole.counts)
    assert not list(victim.out.glob("*.tmp"))


def kill_workers(victim: Victim, count: int, of: int) -> None:
    reached = victim.wait_for_workers(of)[:count]
    for worker in reached:
        worker.kill()
    assert len(reached) == count


def test_two_of_four_dask_workers_are_killed(tmp_path, whole):
    victim = Victim(tmp_path / "out", "dask", 4)
    kill_workers(victim, 2, of=4)
    check_bits(victim, whole)


def test_a_local_worker_and_the_driver_are_killed(tmp_path, whole):
    victim = Victim(tmp_path / "out", "local", 2)
    kill_workers(victim, 1, of=2)
    time.sleep(0.5)
    victim.driver.kill()
    victim.driver.communicate()
    victim.start()
    check_bits(victim, whole)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_any_number_of_workers(workers, whole):
    reached = sads.estimate_geometry(
        UNET, shape="1x8x8", networks=NETWORKS, engine="dask", workers=workers
    ).state
    assert np.array_equal(reached.sums, whole.sums)


def test_a_scheduler_whose_only_worker_is_stopped(tmp_path, monkeypatch):
    from distributed import LocalCluster

    import sads.execution.in_order as in_order

    monkeypatch.setattr(in_order, "ALONE_SECONDS", 1.0)
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    seen = []

    def stop(progress):
        if progress.networks:  # it is also told what is prepared, before the first networks
            seen.append(progress.networks)
        if len(seen) == 3:
            cluster.scale(0)

    try:
        with pytest.raises(sads.SadsError, match=r"all workers have been gone.*are kept in"):
            sads.estimate_geometry(
                UNET,
                shape="1x8x8",
                networks=10**6,
                engine=f"dask:{cluster.scheduler_address}",
                out=tmp_path,
                on_progress=stop,
            )
    finally:
        cluster.close()
    assert load_geometry(tmp_path).networks == seen[-1]
