"""Files that are whole or not there, and directories with one writer.

A file is written beside its place, flushed to disk and renamed, so a reader sees the old one or the
new one, never a part.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError

from .errors import ArtefactError, InputError

if TYPE_CHECKING:
    import numpy as np

ARTEFACT = "sads-unfinished"


class BusyError(ArtefactError):
    """A directory that another process is writing to."""


def atomic_write(path: Path, write: Callable[[Path], object]) -> None:
    """Call `write(temporary path)`, flush to disk, rename to `path`.

    Raises:
        ArtefactError: if that fails; the old file stays and nothing else is left behind.
    """
    temporary = path.with_name(f".{path.stem}.{ARTEFACT}.{os.getpid()}.tmp")
    remove_leftovers(path.parent)
    try:
        with _claimed(temporary):
            write(temporary)
            flush(temporary)
            os.replace(temporary, path)
        flush(path.parent)
    except (OSError, SafetensorError) as error:
        temporary.unlink(missing_ok=True)
        raise ArtefactError(
            f"cannot write {path}: {reason(error)}; free space or choose another place "
            "(what was stored before is unchanged)"
        ) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _claimed(temporary: Path) -> Iterator[None]:
    """A new file with a lock on it for as long as it is written: others leave it alone then."""
    while True:
        with open(temporary, "ab") as file:
            with suppress(OSError):  # some file systems have no locks, and keep their leftovers
                fcntl.flock(file, fcntl.LOCK_EX)
            # Between making and locking it, somebody may have taken it for a leftover.
            if _is_at(file.fileno(), temporary):
                yield
                return


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def remove_leftovers(directory: Path) -> None:
    """Remove what processes that were killed while writing left behind.

    Only files with names of ours go, and only those that no living process holds the lock of.
    """
    for leftover in directory.glob(f".*.{ARTEFACT}.*.tmp"):
        with suppress(OSError), open(leftover, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file.fileno(), leftover):  # and not renamed since it was opened
                leftover.unlink()


def refuse_existing(path: Path, *, force: bool) -> None:
    """Refuse to replace a file, unless that was asked for; for the start of a command.

    Raises:
        InputError: if there is one.
    """
    if path.exists() and not force:
        raise InputError(f"{path} exists: replace it with --force (force=True), or choose another")


def write_bytes(content: bytes) -> Callable[[Path], object]:
    """A writer for `atomic_write` of content that is in memory."""
    return lambda path: path.write_bytes(content)


def flush(path: Path) -> None:
    """Make sure that a file or a directory is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Make the directory, show that it can be written, and keep other writers out."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = open(directory / ".lock", "w")  # noqa: SIM115 - held until the block ends
    except OSError as error:
        raise ArtefactError(f"cannot write to {directory}: {reason(error)}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"{directory} is being written by another process: wait for it, or choose "
                "another --out"
            ) from None
        remove_leftovers(directory)
        yield


def checksum(tensors: "dict[str, np.ndarray]") -> str:
    """Digest of names, shapes and values."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + repr(tensors[name].shape).encode())
        digest.update(tensors[name].data)
    return digest.hexdigest()


def reason(error: Exception) -> str:
    """Why a file could not be read or written, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).splitlines() or [type(error).__name__])[0]
