"""Where to compute."""

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
