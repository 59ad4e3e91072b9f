"""Terminals with few characters, machines with little memory, and defects of our own."""

import io
import json
import os
import resource
import subprocess
import sys
from contextlib import chdir

import pytest

import sads as package
from sads.cli import main
from sads.cli.failures import explained
from sads.errors import is_memory_error

TINY = ["mlp,width=8,depth=1", "--shape", "1x4x4"]
LINE = "rank-one:dct:0,count=50"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored ± é")
    package.estimate_geometry(
        "cnn,width=4,depth=1", shape="1x4x4", probe="gaussian:1", networks=60, out=folder / "é"
    )
    package.train(
        "mlp,width=8,depth=1",
        LINE,
        shape="1x4x4",
        iterations=2,
        batch_size=4,
        out=folder / "training",
    )
    return folder


@pytest.fixture
def ascii_sads(monkeypatch):
    """Run a command whose standard output and error take ASCII alone, strictly."""

    def run(*arguments: str) -> tuple[int, str]:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2)]
        monkeypatch.setattr(sys, "stdout", streams[0])
        monkeypatch.setattr(sys, "stderr", streams[1])
        monkeypatch.setattr(sys, "argv", ["sads", *arguments])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        texts = []
        for stream in streams:
            stream.flush()
            texts.append(stream.buffer.getvalue().decode("ascii"))
        monkeypatch.undo()
        assert "Error" not in texts[1]
        return code, texts[0] if code < 2 else texts[1]

    return run


@pytest.mark.parametrize("json_wanted", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        ["geometry", *TINY, "--networks", "24"],
        ["directions", "é"],
        ["compare", "é", "é"],
        ["data", LINE, "--shape", "1x4x4"],
        ["align", "é", "--data", LINE],
        ["rotate", "é", "--data", LINE, "--kind", "min", "--out", "rotation ±"],
        ["rank", *TINY, "cnn,width=4,depth=1", "--data", LINE, "--steps", "2", "--seeds", "2"],
        ["sample", "training", "--count", "2", "--steps", "2", "--out", "±.npy"],
        ["distance", LINE, LINE, "--shape", "1x4x4", "--projections", "9"],
        ["watch", "é"],
        ["report", "é", "--out", "±.html"],
    ],
)
def test_every_command_prints_on_an_ascii_terminal(
    ascii_sads, stored, tmp_path, words, json_wanted
):
    for name in ("é", "training"):
        (tmp_path / name).symlink_to(stored / name)
    with chdir(tmp_path):
        code, out = ascii_sads(*words, *(["--json"] if json_wanted else []))
    assert code == 0, out
    assert out.strip()
    if json_wanted:
        assert json.loads(out)
    elif words[0] == "align":
        assert "+-" in out


def test_errors_and_help_on_an_ascii_terminal(ascii_sads):
    code, err = ascii_sads("geometry", "é±")
    assert code == 2
    assert "\\xe9+-" in err
    assert ascii_sads("--help")[0] == 0
    assert ascii_sads("geometry", "--help")[0] == 0


def test_the_program_itself_on_an_ascii_terminal(stored):
    done = subprocess.run(
        [sys.executable, "-m", "sads", "align", str(stored / "é"), "--data", LINE],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )
    assert b"+-" in done.stdout
    assert done.stdout.isascii()


def test_too_little_memory_is_one_line(tmp_path):
    """Batches of 3 GB, where the process may have 2.5 beyond torch: torch's own error."""
    look = "import torch; print(open('/proc/self/statm').read().split()[0])"
    pages = subprocess.run([sys.executable, "-c", look], capture_output=True, check=True).stdout
    limit = int(pages) * resource.getpagesize() + 5 * 2**29  # with CUDA torch alone maps 3 GB
    data = "rank-one:dct:0,count=100000"
    words = ["train", *TINY, "--data", data, "--batch-size", "50000000", "--out", "x"]
    done = subprocess.run(
        [sys.executable, "-m", "sads", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 2
    assert done.stderr.startswith("sads: error: there is not enough memory")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (MemoryError(), 2, "not enough memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), 2, "memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), 2, "memory"),
        (RecursionError("maximum recursion depth exceeded"), 2, "nested too deeply"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 2, "not valid UTF-8"),
        (FileNotFoundError(2, "No such file", "x"), 2, "No such file"),
        (KeyError("exp_avg"), 70, "internal error: KeyError"),
        (RuntimeError("shapes do not match"), 70, "internal error: RuntimeError"),
    ],
)
def test_every_failure_has_its_words_and_exit_code(sads, monkeypatch, error, code, said):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("sads.specs.coercion.as_dataset", fail)
    exit_code, out, err = sads("data", "digits")
    assert (exit_code, out) == (code, "")
    assert err.count("\n") == 1
    assert said in err
    if code == 70:
        assert "test_terminal_and_memory.py" in err or "sads/cli/data.py:" in err
        assert "--debug" in err
    with pytest.raises(type(error)):
        sads("data", "digits", "--debug")


def test_long_messages_are_cut():
    line, code = explained(package.InputError("9" * 5000))
    assert code == 2
    assert len(line) < 700
    assert not is_memory_error(ValueError("out of memory"))
    library = "libcudnn.so: failed to map segment from shared object"
    assert is_memory_error(ImportError(library))  # large libraries under a limit
    assert not is_memory_error(ImportError("no module named torch"))
