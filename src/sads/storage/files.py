"""Files that are never half written, and directories with one writer.

A file is written under a temporary name, flushed to disk and renamed, so a reader sees the old one
or the new one, never a part. Symbolic links are followed: the file they name is replaced and the
link stays. Anything but a regular file (a device, a pipe, a directory) is never replaced.
"""

import fcntl
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError

from ..errors import ArtefactError, InputError

if TYPE_CHECKING:
    import numpy as np

ARTEFACT = "sads-unfinished"
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class BusyError(ArtefactError):
    """A directory that another process is writing to."""


def file_target(path: Path) -> Path:
    """The file to write for a path: the path itself, or the target of a symbolic link.

    A command that calls this at its start fails before the work if the file cannot be written.

    Raises:
        ArtefactError: if the path is not a regular file, or its directory does not exist.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:  # a new file, or a link to one
        mode = stat.S_IFREG
    except OSError as error:
        raise ArtefactError(f"cannot write {path}: {reason(error)}") from error
    if not stat.S_ISREG(mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(mode)), "something else")
        raise ArtefactError(f"cannot write {path}: it is {kind}, expected a file or nothing there")
    if not target.parent.is_dir():
        raise ArtefactError(f"cannot write {path}: there is no directory {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise ArtefactError(f"cannot write {path}: Permission denied; choose another place")
    return target


def atomic_write(path: Path, write: Callable[[Path], object]) -> None:
    """Call `write(temporary path)`, flush to disk, rename to the file that `path` names.

    Raises:
        ArtefactError: if that fails; the old file stays and nothing else is left behind.
    """
    target = file_target(path)
    temporary = target.with_name(f".{target.stem}.{ARTEFACT}.{os.getpid()}.tmp")
    remove_leftovers(target.parent)
    try:
        with _claimed(temporary):
            write(temporary)
            flush(temporary)
            os.replace(temporary, target)
        flush(target.parent)
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
    """A new file that is locked while it is written, so that others do not remove it."""
    while True:
        with open(temporary, "ab") as file:
            with suppress(OSError):  # some file systems have no locks; leftovers stay there
                fcntl.flock(file, fcntl.LOCK_EX)
            # Before it was locked, somebody may have removed it as a leftover.
            if _is_at(file.fileno(), temporary):
                yield
                return


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def remove_leftovers(directory: Path) -> None:
    """Remove files that were left behind by processes killed while writing.

    Only files with our names are removed, and only if no living process holds their lock.
    """
    for leftover in directory.glob(f".*.{ARTEFACT}.*.tmp"):
        with suppress(OSError), open(leftover, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file.fileno(), leftover):  # not renamed since it was opened
                leftover.unlink()


def refuse_existing(path: Path, *, force: bool) -> None:
    """Refuse to replace a file without `force`; to be called at the start of a command.

    Raises:
        InputError: if the file exists.
        ArtefactError: if the path is not a regular file, or cannot be written.
    """
    file_target(path)
    if path.exists() and not force:
        raise InputError(f"{path} exists: replace it with force=True, or choose another")


def write_bytes(content: bytes) -> Callable[[Path], object]:
    """A writer for `atomic_write` that writes these bytes."""
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
    """Make the directory, check that it can be written, and keep other writers out."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = open(file_target(directory / ".lock"), "w")  # noqa: SIM115 - held until the end
    except OSError as error:
        taken = isinstance(error, FileExistsError)
        why = "it is not a directory" if taken else reason(error)
        raise ArtefactError(f"cannot write to {directory}: {why}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"{directory} is being written by another process: wait for it, or choose "
                "another directory"
            ) from None
        remove_leftovers(directory)
        yield


def checksum(tensors: "dict[str, np.ndarray]") -> str:
    """The digest of names, shapes and values."""
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


def regular_file(path: str | Path) -> Path:
    """The path, if it is a regular file: opening a pipe might wait for a writer for ever.

    Raises:
        InputError: if it does not exist or is something else.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        if not isinstance(error, FileNotFoundError):
            raise InputError(f"cannot read {path}: {reason(error)}") from error
        near = get_close_matches(path.name, [p.name for p in path.parent.glob(f"*{path.suffix}")])
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"no such file: {path}{hint}") from error
    if not stat.S_ISREG(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "a pipe, socket or device"
        raise InputError(f"{path} is {kind}: expected a regular file")
    return path
