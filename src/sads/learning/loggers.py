"""Scalars and pictures for TensorBoard and Weights & Biases, known by their methods.

Neither has to be installed: a TensorBoard writer is any object with `add_scalar` and `add_image`,
a Weights & Biases run any object with `log`.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import InputError

PICTURE = "learned by direction and noise level"

Log = Callable[[int, Mapping[str, float], np.ndarray], None]


def logger_of(writer: Any) -> Log:
    """A function that takes a step, its scalars and a picture, and passes them to the writer.

    Raises:
        InputError: if the writer is neither.
    """
    if hasattr(writer, "add_scalar") and hasattr(writer, "add_image"):
        return lambda step, scalars, picture: _to_tensorboard(writer, step, scalars, picture)
    if hasattr(writer, "log"):
        return lambda step, scalars, picture: _to_wandb(writer, step, scalars, picture)
    raise InputError(
        f"a monitor logs to a SummaryWriter or to a run of wandb, got {type(writer).__name__}: "
        "for others use monitor.on_window(callback)"
    )


def _to_tensorboard(
    writer: Any, step: int, scalars: Mapping[str, float], picture: np.ndarray
) -> None:
    for name, value in scalars.items():
        writer.add_scalar(name, value, step)
    writer.add_image(PICTURE, picture, step, dataformats="HWC")


def _to_wandb(run: Any, step: int, scalars: Mapping[str, float], picture: np.ndarray) -> None:
    wandb = sys.modules.get("wandb")  # imported where the run was made
    image = picture if wandb is None else wandb.Image(picture)
    # The run's own counter of steps belongs to the training loop.
    run.log({**scalars, PICTURE: image, "monitor/updates": step})
