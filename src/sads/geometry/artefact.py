"""Geometries on disk: one safetensors file that is at once the result and the checkpoint.

The header holds the plan and the progress as JSON, the body the packed sums of all folds and their
checksum. Files are written beside their place, flushed to disk and renamed, so a reader sees the
old file or the new one, never a part. Nothing is pickled.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ..errors import ArtefactError
from .plan import Plan
from .state import State

FILE = "geometry.safetensors"
FORMAT = "sads.geometry/1"


def write_state(directory: Path, plan: Plan, state: State) -> None:
    """Write atomically; on failure the old file stays and nothing else is left behind."""
    rows = state.sums.shape[1]
    packed = np.ascontiguousarray(state.sums[:, *np.tril_indices(rows)])
    tensors = {"sums": packed, "counts": state.counts}
    progress = {
        "batches": state.batches,
        "next_check": state.next_check,
        "seconds": state.seconds,
        "finished": state.finished,
    }
    header = {
        "format": FORMAT,
        "plan": plan.model_dump_json(),
        "progress": json.dumps(progress),
        "checksum": _checksum(tensors),
    }
    atomic_write(directory / FILE, lambda path: save_file(tensors, path, metadata=header))


def atomic_write(path: Path, write) -> None:
    """Call `write(temporary path)`, flush to disk, rename to `path`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except (OSError, SafetensorError) as error:
        temporary.unlink(missing_ok=True)
        raise ArtefactError(
            f"cannot write {path}: {_reason(error)}; free space or choose another --out "
            "(what was stored before is unchanged)"
        ) from error


def read_state(directory: Path) -> tuple[Plan, State]:
    """Read and verify what `write_state` wrote.

    Raises:
        ArtefactError: if the file is missing, foreign, truncated, corrupt or of a newer version.
    """
    path = directory / FILE
    if not path.is_file():
        raise ArtefactError(f"no geometry in {directory}: expected {FILE} (make one with --out)")
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            _check_format(header, path)
            tensors = {name: file.get_tensor(name) for name in ("sums", "counts")}
    except (OSError, SafetensorError) as error:
        raise ArtefactError(
            f"{path} is truncated or not a safetensors file ({_reason(error)}): "
            "delete it and run the command again"
        ) from error
    if _checksum(tensors) != header["checksum"]:
        raise ArtefactError(f"{path} is corrupt: its checksum does not match; make it again")
    try:
        plan = Plan.model_validate_json(header["plan"])
        progress = json.loads(header["progress"])
        return plan, State(_unpack(tensors["sums"]), tensors["counts"], **progress)
    except (ValidationError, ValueError, TypeError, KeyError) as error:
        raise ArtefactError(f"{path} has an unreadable header: {_reason(error)}") from error


def _check_format(header: dict[str, str], path: Path) -> None:
    found = header.get("format", "")
    if found == FORMAT and {"plan", "progress", "checksum"} <= header.keys():
        return
    if found.startswith("sads.geometry/"):
        raise ArtefactError(f"{path} has format {found}, this version reads {FORMAT}: upgrade sads")
    raise ArtefactError(f"{path} is a safetensors file, but not a geometry made by sads")


def _unpack(packed: np.ndarray) -> np.ndarray:
    rows = int((np.sqrt(8 * packed.shape[1] + 1) - 1) / 2)
    whole = np.zeros((len(packed), rows, rows))
    whole[:, *np.tril_indices(rows)] = packed
    return whole


def _checksum(tensors: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + repr(tensors[name].shape).encode())
        digest.update(np.ascontiguousarray(tensors[name]).data)
    return digest.hexdigest()


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).splitlines()[0]


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Make the directory, show that it can be written, and keep other writers out."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = open(directory / ".lock", "w")  # noqa: SIM115 - held until the block ends
    except OSError as error:
        raise ArtefactError(f"cannot write to {directory}: {_reason(error)}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ArtefactError(
                f"{directory} is being written by another process: wait for it, or choose "
                "another --out"
            ) from None
        for stale in directory.glob(".*.tmp"):  # of a process that was killed while writing
            stale.unlink()
        yield
