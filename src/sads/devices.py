"""Where to compute, and with whose memory."""

import ctypes
import sys

import torch

from .errors import InputError


def usable_device(name: str) -> torch.device:
    """The device of a name, if it is the CPU or a CUDA device that is there."""
    try:
        device = torch.device(name)
        if device.type not in ("cpu", "cuda"):
            raise InputError(f"the device is cpu or cuda, got {name!r}")
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0]
        raise InputError(f"the device {name!r} cannot be used here: {why}") from error
    return device


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
