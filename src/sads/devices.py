"""The device to compute on, and how much memory is left."""

import ctypes
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import torch

from .errors import InputError, SadsError, is_memory_error


def usable_device(name: str) -> torch.device:
    """The device of this name, if it is the CPU or a CUDA device of this machine."""
    try:
        device = torch.device(name)
        if device.type not in ("cpu", "cuda"):
            raise InputError(f"the device is cpu or cuda, got {name!r}")
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0]
        raise InputError(f"the device {name!r} cannot be used here: {why}") from error
    return device


def placed(
    values: torch.Tensor, device: torch.device, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """The values on a device and in a precision; copies to a GPU run in the background.

    Only copies from pinned memory can do so. PyTorch keeps that memory until they are done, even if
    it is freed earlier.
    """
    if device.type == "cuda" and values.device.type == "cpu":
        return values.pin_memory().to(device, dtype, non_blocking=True)
    return values.to(device, dtype)


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of mallopt(3)


def keep_freed_memory() -> None:
    """Let this process keep the memory that it frees; for programs, not for libraries.

    Every step of a training frees what the next one asks for again. glibc returns large blocks to
    the kernel, which has to clear them anew.
    """
    # Other systems' allocators have other rules, and no mallopt.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        for option in (_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD):
            mallopt(option, 2**31 - 1)


def return_freed_memory() -> None:
    """Give the memory that was freed between blocks in use back to the system, on Linux."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def require_memory(needed: float, what: str, remedy: str) -> None:
    """Refuse work that cannot fit, before it begins.

    Raises:
        InputError: if more bytes are needed than this process may still use.
    """
    there = available_memory()
    if needed > there:
        raise InputError(
            f"{what} needs {needed / 2**30:,.1f} GiB of memory, {there / 2**30:,.1f} GiB are "
            f"available: {remedy}"
        )


def available_memory() -> int:
    """Bytes that the machine, the control group and the limits still leave to this process."""
    status = _status()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resident = [pages, *_group_limits()]
    left = [limit - status.get("VmRSS", 0) for limit in resident]
    for kind, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            left.append(soft - status.get(used, 0))
    return max(0, min(left))


def _status() -> dict[str, int]:
    """The memory of this process in bytes, by name; empty where the system does not report it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return {}
    rows = [line.split() for line in lines if line.startswith("Vm")]
    return {row[0].rstrip(":"): 1024 * int(row[1]) for row in rows}


def _group_limits(root: Path = Path("/sys/fs/cgroup"), of: str = "/proc/self/cgroup") -> list[int]:
    """The memory limits of the control groups around this process, in versions 1 and 2."""
    try:
        rows = [line.split(":", 2) for line in Path(of).read_text().splitlines()]
    except OSError:
        return []
    limits: list[int] = []
    for _, controllers, path in rows:
        if controllers == "":
            home, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            home, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        parts = PurePosixPath(path.lstrip("/")).parts
        # Inside a container the path may be that of the host: then only the root exists.
        for depth in range(len(parts) + 1):
            limits += _limit(home.joinpath(*parts[:depth], name))
    return limits


def _limit(path: Path) -> list[int]:
    try:
        text = path.read_text().strip()
    except OSError:
        return []
    return [int(text)] if text.isdecimal() else []


@contextmanager
def memory_errors_explained(what: str, remedy: str) -> Iterator[None]:
    """Turn the allocators' errors into one of ours.

    Raises:
        InputError: where memory runs out inside.
    """
    try:
        yield
    except SadsError:
        raise
    except Exception as error:
        if not is_memory_error(error):
            raise
        there = available_memory() / 2**30
        raise InputError(
            f"{what} ran out of memory ({there:,.1f} GiB are left to this process): {remedy}"
        ) from error
