"""`kill -9` of the driver or of any worker: nothing is lost, nothing is there twice.

The final table must be that of an uninterrupted sweep, but for timings, hosts and attempts.
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from sads.sweep import read_rows, run_sweep

from .small import InProcess, lasting, write_spec

SMOKE = Path(__file__).parents[2] / "examples" / "smoke.toml"


class Victim:
    """A sweep as a process of its own, which can be killed in part or as a whole."""

    def __init__(self, spec: Path, out: Path, engine: str):
        self.command = [sys.executable, "-m", "sads", "sweep", str(spec), "--out", str(out)]
        self.command += ["--engine", engine, "--workers", "2", "--json"]
        self.out = out
        self.start()

    def start(self) -> None:
        with open(self.out.parent / "said.txt", "a") as said:
            self.driver = subprocess.Popen(self.command, stdout=said, stderr=said)

    @property
    def ended(self) -> bool:
        return self.driver.poll() is not None

    def workers(self) -> list[psutil.Process]:
        """Processes that run trials, of either engine."""
        marks = ("sads.execution.worker", "spawn_main")
        try:
            children = psutil.Process(self.driver.pid).children(recursive=True)
            return [c for c in children if any(m in " ".join(c.cmdline()) for m in marks)]
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            return []

    def kill_worker(self, choice: np.random.Generator) -> bool:
        """Whether there was one to kill."""
        workers = self.workers()
        if workers:
            workers[choice.integers(len(workers))].kill()
        return bool(workers)

    def kill_driver(self) -> None:
        """Kill it, and start it again at once."""
        orphans = self.workers()
        self.driver.kill()
        self.driver.wait()
        self.start()
        _, alive = psutil.wait_procs(orphans, timeout=60)
        assert not alive

    def results(self) -> int:
        return len(list(self.out.glob("results/*.json")))

    def said(self) -> str:
        return (self.out.parent / "said.txt").read_text()


def check_whole(out: Path, reference: list[dict], said: str) -> None:
    """The same table, and nothing beside it."""
    _, rows = read_rows(out)
    assert lasting(rows) == lasting(reference), said
    assert sorted(p.stem for p in (out / "results").iterdir()) == [row["id"] for row in rows]
    artefacts = {p.stem for p in (out / "artefacts").iterdir()}
    assert artefacts == {row["artefact"] for row in rows}
    assert not list((out / "work").iterdir())
    assert not list(out.rglob("*.tmp"))


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_a_few_kills(tmp_path, engine):
    """The driver and two workers, each as soon as something new has been written."""
    spec = write_spec(tmp_path, indices=range(6), seeds=[0, 1], iterations=150)
    run_sweep(spec, tmp_path / "whole", engine=InProcess())
    choice = np.random.default_rng(len(engine))
    victim = Victim(spec, tmp_path / "out", engine)
    for target in ("worker", "driver"):
        before = victim.results()
        while victim.results() == before and not victim.ended:
            time.sleep(0.02)
        time.sleep(choice.uniform(0, 0.2))
        if target == "driver":
            victim.kill_driver()
        else:
            assert victim.kill_worker(choice) or victim.ended
    assert victim.driver.wait(timeout=300) == 0, victim.said()
    check_whole(tmp_path / "out", read_rows(tmp_path / "whole")[1], victim.said())


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "dask"])
def test_thirty_kills_at_random_moments_of_the_smoke_sweep(tmp_path, engine):
    run_sweep(SMOKE, tmp_path / "whole", engine=InProcess())
    reference = read_rows(tmp_path / "whole")[1]
    choice = np.random.default_rng(len(engine))
    kills, sweeps = {"driver": 0, "worker": 0}, 0
    while sum(kills.values()) < 30:
        sweeps += 1
        (tmp_path / f"{sweeps}").mkdir()
        victim = Victim(SMOKE, tmp_path / f"{sweeps}" / "out", engine)
        while not victim.ended:
            time.sleep(choice.uniform(0, 12))
            if victim.ended or sum(kills.values()) >= 30:
                break
            if choice.random() < 0.4:
                victim.kill_driver()
                kills["driver"] += 1
            else:
                kills["worker"] += victim.kill_worker(choice)
        assert victim.driver.wait(timeout=1800) == 0, victim.said()
        check_whole(tmp_path / f"{sweeps}" / "out", reference, victim.said())
    print(f"{engine}: {kills} over {sweeps} sweeps")
