"""What is on disk: loads elsewhere, refuses what is broken, survives kill -9 and a full disk."""

import errno
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from safetensors.numpy import save_file

from sads.errors import ArtefactError
from sads.geometry import estimate_geometry, load_geometry
from sads.geometry.artefact import FILE, write_state
from sads.storage.files import writing

from .families import FAMILIES

# Runs each line that it reads as a command in a process of its own, which it tells; when that has
# ended, it tells how. All modules are loaded once. There is a checkpoint after every batch, so that
# kills also hit the writing of files.
RUNS = """
import os, sys
import sads.api, sads.geometry.run as run, sads.geometry.sketch as sketch
from sads.cli import main
run.CHECKPOINT_SECONDS = sketch.CHECKPOINT_SECONDS = 0.0
sketch.WRITING_SHARE = 1e9
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv[1:] = line.split()
        sys.exit(main())
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.fixture
def stored(tmp_path) -> Path:
    estimate_geometry(FAMILIES["unet"], networks=120, out=tmp_path)
    return tmp_path


def test_loads_in_another_process(stored):
    code = "import sads, sys; print(sads.load_geometry(sys.argv[1]).spectrum().eigenvalues.sum())"
    printed = subprocess.run(
        [sys.executable, "-c", code, str(stored)], capture_output=True, text=True, check=True
    ).stdout
    expected = load_geometry(stored).spectrum().eigenvalues.sum()
    assert float(printed) == pytest.approx(expected, rel=1e-12)


def test_save_and_load_are_inverse(tmp_path):
    geometry = estimate_geometry(FAMILIES["dit"])
    geometry.save(tmp_path)
    loaded = load_geometry(tmp_path)
    assert loaded.plan == geometry.plan
    assert np.array_equal(loaded.factor, geometry.factor)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.99])
def test_a_truncated_file_is_refused(stored, share):
    content = (stored / FILE).read_bytes()
    (stored / FILE).write_bytes(content[: int(share * len(content))])
    with pytest.raises(ArtefactError, match="truncated or not a safetensors"):
        load_geometry(stored)


def test_a_changed_byte_is_refused(stored):
    content = bytearray((stored / FILE).read_bytes())
    content[-100] ^= 1
    (stored / FILE).write_bytes(content)
    with pytest.raises(ArtefactError, match="corrupt"):
        load_geometry(stored)


def test_sums_of_another_size_are_refused(stored):
    geometry = load_geometry(stored)
    short = replace(geometry.state, sums=np.ascontiguousarray(geometry.state.sums[:, :-1]))
    write_state(stored, geometry.plan, short)  # with the right checksum
    with pytest.raises(ArtefactError, match="expected sums of shape"):
        load_geometry(stored)


def test_foreign_files_are_refused(tmp_path):
    with pytest.raises(ArtefactError, match="no geometry"):
        load_geometry(tmp_path)
    (tmp_path / FILE).write_text("not a tensor")
    with pytest.raises(ArtefactError, match="not a safetensors"):
        load_geometry(tmp_path)
    save_file({"weights": np.zeros(3)}, tmp_path / FILE)
    with pytest.raises(ArtefactError, match="not a geometry"):
        load_geometry(tmp_path)
    save_file({"weights": np.zeros(3)}, tmp_path / FILE, metadata={"format": "sads.geometry/99"})
    with pytest.raises(ArtefactError, match="upgrade"):
        load_geometry(tmp_path)


def test_a_full_disk_keeps_what_was_there(stored, monkeypatch):
    before = (stored / FILE).read_bytes()

    def full(self, content):
        with open(self, "wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ArtefactError, match="No space left"):
        estimate_geometry(FAMILIES["unet"], networks=240, out=stored)
    assert (stored / FILE).read_bytes() == before
    assert sorted(p.name for p in stored.iterdir()) == [".lock", FILE]


def test_a_file_size_limit_is_one_clear_line(tmp_path):
    """A real write that fails half-way, by the shell's limit on the size of files."""
    command = (
        f"ulimit -f 10; exec {sys.executable} -m sads geometry cnn --networks 24 --out {tmp_path}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert "cannot write" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == [".lock"]


def test_an_unwritable_directory_is_found_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtefactError, match="cannot write to"):
        estimate_geometry(FAMILIES["unet"], networks=120, out=tmp_path / "file" / "below")


def test_only_our_own_leftovers_are_removed(tmp_path):
    (tmp_path / ".mine.tmp").write_text("mine")
    (tmp_path / ".geometry.sads-unfinished.1.tmp").write_text("half")
    with writing(tmp_path):
        pass
    assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", ".mine.tmp"]


def test_two_writers_are_kept_apart(tmp_path):
    with writing(tmp_path), pytest.raises(ArtefactError, match="another process"):
        estimate_geometry(FAMILIES["unet"], networks=120, out=tmp_path)


def _last_written(directory: Path) -> int:
    """When something was last stored in a directory."""
    return max((p.stat().st_mtime_ns for p in directory.glob("*.safetensors")), default=0)


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ("", [FILE]),
        (
            " --subspace adaptive:20,sketch=1000",
            [FILE, "sketch.safetensors", "subspace.safetensors"],
        ),
    ],
    ids=["whole", "subspace"],
)
def test_kill_9_at_random_moments_changes_nothing(tmp_path, options, files):
    """Killed four times at random moments, the same command ends with the same bits."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    place = tmp_path / "killed"
    waits = np.random.default_rng(4).uniform(0.0, 0.3, size=4)
    with subprocess.Popen(
        [sys.executable, "-c", RUNS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env=environment,
    ) as runs:
        assert runs.stdin is not None
        assert runs.stdout is not None
        for name, wait in [
            *(("killed", wait) for wait in waits),
            ("killed", None),
            ("whole", None),
        ]:
            before = _last_written(place)
            command = f"geometry cnn --networks 3000{options}"
            runs.stdin.write(f"{command} --out {tmp_path / name}\n")
            process = psutil.Process(int(runs.stdout.readline()))
            if wait is not None:
                # Start-up takes longer than the work: wait for this attempt's first checkpoint.
                while process.is_running() and _last_written(place) == before:
                    time.sleep(0.01)
                time.sleep(wait)
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            status = int(runs.stdout.readline())
            assert status in (0, signal.SIGKILL) if wait is not None else status == 0
        runs.stdin.close()
    survived, whole = load_geometry(tmp_path / "killed"), load_geometry(tmp_path / "whole")
    assert np.array_equal(survived.state.sums, whole.state.sums)
    assert np.array_equal(survived.state.counts, whole.state.counts)
    assert survived.plan == whole.plan
    assert sorted(p.name for p in place.iterdir()) == [".lock", *files]
