"""What killed writers leave behind goes with the next write, and nothing else does."""

import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
import torch

from sads.diffusion import write_samples
from sads.storage.files import ARTEFACT, atomic_write, remove_leftovers, write_bytes, writing

SHAPE, COUNT = (4,), 20


def chunks(pause: float):
    for _ in range(COUNT):
        time.sleep(pause)
        yield torch.ones(1, *SHAPE)


def sample(path, pause):
    write_samples(path, chunks(pause), SHAPE, COUNT)


@pytest.fixture
def sampler(tmp_path):
    """A process that is writing samples into a file, slowly."""
    child = multiprocessing.get_context("fork").Process(
        target=sample, args=(tmp_path / "samples.npy", 30.0)
    )
    child.start()
    while not leftovers(tmp_path):
        time.sleep(0.005)
    time.sleep(0.05)  # it has the lock by now
    yield child
    child.kill()
    child.join()


def leftovers(directory) -> list[str]:
    return sorted(path.name for path in directory.glob(f".*.{ARTEFACT}.*"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_next_sampling_removes_them(tmp_path, sampler, how):
    os.kill(sampler.pid, how)
    sampler.join()
    assert len(leftovers(tmp_path)) == 1
    sample(tmp_path / "samples.npy", 0.0)
    assert [path.name for path in tmp_path.iterdir()] == ["samples.npy"]
    assert np.load(tmp_path / "samples.npy").shape == (COUNT, *SHAPE)


def test_what_a_living_process_writes_is_left_alone(tmp_path, sampler):
    before = leftovers(tmp_path)
    atomic_write(tmp_path / "other.csv", write_bytes(b"x"))
    with writing(tmp_path):
        pass
    remove_leftovers(tmp_path)
    assert leftovers(tmp_path) == before


def test_files_of_other_programs_are_left_alone(tmp_path):
    names = ["samples.npy.tmp", ".samples.123.tmp", f"samples.{ARTEFACT}.1.tmp", ".lock"]
    for name in names:
        (tmp_path / name).write_text("not ours")
    (tmp_path / f".old.{ARTEFACT}.1.tmp").write_text("ours")
    atomic_write(tmp_path / "new", write_bytes(b"x"))
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*names, "new"])


def write_often(path, times):
    for _ in range(times):
        atomic_write(path, write_bytes(os.urandom(1000)))


def test_writers_and_removers_at_once_lose_nothing(tmp_path):
    """Two writers, and a third process that takes all it can for leftovers."""
    processes = multiprocessing.get_context("fork")
    writers = [processes.Process(target=write_often, args=(tmp_path / n, 150)) for n in "ab"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        remove_leftovers(tmp_path)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]
    assert all(path.stat().st_size == 1000 for path in tmp_path.iterdir())
