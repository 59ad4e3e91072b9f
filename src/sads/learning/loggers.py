"""Scalars and pictures for TensorBoard and Weights & Biases, known by their methods.

Neither has to be installed: a TensorBoard writer is any object with `add_scalar` and `add_image`,
a Weights & Biases run any object with `log` and `define_metric`.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import InputError

PICTURE = "learned by direction and noise level"
UPDATES = "monitor/updates"

Log = Callable[[int, Mapping[str, float], np.ndarray], None]


def logger_of(writer: Any) -> Log:
    """A function that takes a step, its scalars and a picture, and passes them to the writer.

    Raises:
        InputError: if the writer is neither.
    """
    if hasattr(writer, "add_scalar") and hasattr(writer, "add_image"):
        return lambda step, scalars, picture: _to_tensorboard(writer, step, scalars, picture)
    if hasattr(writer, "log") and hasattr(writer, "define_metric"):
        return _WandbRun(writer)
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


class _WandbRun:
    """Hands windows on to a run of Weights & Biases without moving its counter of steps.

    A row of theirs is one step of the loop. A window is added to the row that the loop is at, which
    stays open, so that nothing the loop logs is shifted or refused. Where the loop has logged
    nothing since the window before, that one's row is closed first.
    """

    def __init__(self, run: Any):
        self._run = run
        self._open_at: int | None = None
        self._defined: set[str] = set()

    def __call__(self, step: int, scalars: Mapping[str, float], picture: np.ndarray) -> None:
        wandb = sys.modules.get("wandb")  # imported where the run was made
        image = picture if wandb is None else wandb.Image(picture)
        values = {**scalars, PICTURE: image}
        for name in values.keys() - self._defined:  # drawn over the monitor's own updates
            self._run.define_metric(name, step_metric=UPDATES)
        self._defined |= values.keys()
        if self._open_at is not None and self._run.step == self._open_at:
            self._run.log({}, commit=True)
        self._run.log({**values, UPDATES: step}, commit=False)
        self._open_at = self._run.step
