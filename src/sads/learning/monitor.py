"""A monitor inside anybody's training loop: the loss by direction and noise level, streaming.

The sums of `training_record` stay on the device of the predictions (`streaming_sums`) and are
copied to the host once in a while, as one window. When there are many windows, neighbours are
added up, so that memory does not grow with the number of steps.
"""

import time as clock
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..data import Dataset
from ..directions.sets import DirectionSet
from ..errors import InputError
from ..foundation.choices import Prediction
from ..geometry import Geometry
from ..path import DiffusionPath, Schedule, time_values
from ..path.predictions import prediction_named
from ..storage.files import writing
from .expected_order import ExpectedOrder, expected_order
from .forecast import Forecast
from .loggers import logger_of
from .monitor_axes import TimeKind, expect_times, time_edges, told_apart
from .record_artefact import FILE, load_record, write_record
from .streaming_sums import Sums, added_up
from .training_record import Lag, TrainingRecord, Window
from .unavoidable_loss import unavoidable_loss, variances_of_data

if TYPE_CHECKING:
    import pandas

BINS = 10
EVERY = 50  # updates in a window, until there are many
WINDOWS = 256  # kept at most
FLUSH_SECONDS = 30.0

Callback = Callable[[int, Mapping[str, float]], None]


class Monitor(AbstractContextManager["Monitor"]):
    """Loss by direction and noise level, kept in three lines of anybody's training loop.

    >>> import sads, torch
    >>> monitor = sads.Monitor((1, 8, 8))
    >>> prediction, target = torch.zeros(4, 1, 8, 8), torch.ones(4, 1, 8, 8)
    >>> monitor.update(prediction, target, torch.tensor([0, 300, 600, 900]))
    >>> round(float(monitor.loss()[0, 0]), 6)  # all of it is in the mean of the channel
    64.0

    Args:
        shape: shape of one sample.
        directions: a geometry (its bands are told apart), an array whose columns are orthonormal
            directions, or a set of directions; by default the mean of each channel and bands of
            frequency.
        data: samples of the training data, to know how much of the loss cannot be avoided along
            each direction; without them, directions along which the data vary much look late.
        prediction: what the network predicts: `eps`, `v`, `x0`, `flow` or `score`; only `data`
            needs it.
        schedule: the path from data to noise; its number of steps is the range of whole-number
            times.
        time: what t is: `index` (whole numbers below the schedule's steps), `unit` (in [0, 1]),
            `thousand` (in [0, 1000]), `sigma` or `log-sigma` (the noise level itself).
        reverse: whether t runs from noise to data; only `data` needs it.
        bins: bins of noise levels, of equal width in t.
        every: updates in a window of the history; it doubles whenever the history is full.
        out: a directory that keeps everything; a monitor that is there already is continued.
        flush_seconds: the time between two writes to it; a killed process loses at most the
            updates since the last one.
        distributed: add up over all processes of `torch.distributed` whenever a window is complete.
            All of them update alike and read results at the same updates; give `out` to only one.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        directions: Geometry | DirectionSet | np.ndarray | None = None,
        *,
        data: Dataset | np.ndarray | Tensor | None = None,
        prediction: Prediction = "eps",
        schedule: DiffusionPath | None = None,
        time: TimeKind = "index",
        reverse: bool = False,
        bins: int = BINS,
        every: int = EVERY,
        out: str | Path | None = None,
        flush_seconds: float = FLUSH_SECONDS,
        distributed: bool = False,
    ):
        if bins < 1 or every < 1:
            raise InputError(f"bins and every are at least 1, got {bins} and {every}")
        if flush_seconds < 0:
            raise InputError(f"flush_seconds is at least 0, got {flush_seconds:g}")
        predicted = prediction_named(prediction)
        self.shape: tuple[int, ...] = tuple(shape)
        self.directions: DirectionSet = told_apart(self.shape, directions)
        path = schedule or Schedule()
        self._time: TimeKind = time
        self._times_unseen = True
        self.edges: np.ndarray = time_edges(time, path, bins)
        self._unavoidable = None
        if data is not None:
            self._unavoidable = unavoidable_loss(
                variances_of_data(self.directions, _samples(data)),
                path,
                predicted,
                np.searchsorted(
                    self.edges[1:-1], time_values(time, path, reverse=reverse), "right"
                ),
                bins,
            )
        self._forecast: ExpectedOrder | None = None
        self.distributed = distributed
        self.updates: int = 0
        self.skipped: int = 0
        self._every = every
        self._windows: list[Window] = []
        self._callbacks: list[Callback] = []
        self._sums: Sums | None = None
        self._out = None if out is None else Path(out)
        self._flush_seconds, self._flushed = flush_seconds, clock.monotonic()
        self._lock = ExitStack()
        if self._out is not None:
            self._lock.enter_context(writing(self._out))
            self._go_on(self._out)

    def _go_on(self, directory: Path) -> None:
        """Continue from what an earlier process has stored."""
        if not (directory / FILE).exists():
            return
        before = load_record(directory)
        own = self.record
        same = before.labels == own.labels and before.shape == own.shape
        if not (same and np.array_equal(before.edges, own.edges)):
            self._lock.close()
            raise InputError(
                f"{directory} holds a monitor of other directions or noise levels: choose another "
                "directory, or the same arguments as before"
            )
        self._windows, self.skipped = list(before.windows), before.skipped
        self._forecast = before.forecast
        if self._unavoidable is None:
            self._unavoidable = before.unavoidable
        self.updates = before.updates
        spans = [window.end - window.first for window in before.windows]
        self._every = max([self._every, *spans])

    def update(self, prediction: Tensor, target: Tensor, t: Tensor | float) -> None:
        """Add one batch.

        Args:
            prediction: what the network returned, (N, *shape); no gradient is kept.
            target: what the loss compares it with, (N, *shape).
            t: the time of each sample, (N,), or one for all.
        """
        prediction, target, t = (torch.as_tensor(given) for given in (prediction, target, t))
        self._check(prediction, target, t)
        if self._sums is None or self._sums.device != prediction.device:
            self._close_window()
            self._sums = Sums(self.directions, self.edges, prediction.device)
        self._sums.add(prediction, target, t)
        self.updates += 1
        if self.updates - self._first >= self._every:
            self._close_window()
            for callback in self._callbacks:
                callback(self.updates, self.record.scalars())
        if self._out is not None and clock.monotonic() - self._flushed >= self._flush_seconds:
            self.flush()

    def _check(self, prediction: Tensor, target: Tensor, t: Tensor) -> None:
        if prediction.shape != target.shape or tuple(prediction.shape[1:]) != self.shape:
            raise InputError(
                f"prediction and target have shape (N, {', '.join(map(str, self.shape))}), got "
                f"{tuple(prediction.shape)} and {tuple(target.shape)}"
            )
        if t.numel() not in (1, len(prediction)):
            raise InputError(
                f"t has one time for each of the {len(prediction)} samples, or one for all, got "
                f"{t.numel()}"
            )
        if self._times_unseen:  # once: on a GPU every look waits for what is under way
            expect_times(t, self._time, self.edges)
            self._times_unseen = False

    @property
    def _counted(self) -> int:
        """The number of updates that are already in a window."""
        return self._windows[-1].end if self._windows else 0

    @property
    def _first(self) -> int:
        """The first update of the window that is being filled; a reader may have cut it short."""
        last = self._windows[-1] if self._windows else None
        whole = last is None or last.end - last.first >= self._every
        return self._counted if last is None or whole else last.first

    def _close_window(self) -> None:
        """Copy the sums to the host, as a new window or into one that was cut short."""
        if self._sums is None or self.updates == self._counted:
            return
        sums, skipped = self._sums.taken(distributed=self.distributed)
        self.skipped += skipped
        window = Window(self._counted, self.updates, *sums)
        if self._first < self._counted:
            window = self._windows.pop() + window
        self._windows.append(window)
        if len(self._windows) == WINDOWS:
            pairs = zip(self._windows[::2], self._windows[1::2], strict=True)
            self._windows = [one + other for one, other in pairs]
            self._every *= 2

    @property
    def record(self) -> TrainingRecord:
        """Everything seen so far, as a value."""
        self._close_window()
        return TrainingRecord(
            self.shape,
            self.directions.labels,
            self.directions.widths,
            self.edges,
            tuple(self._windows),
            self.skipped,
            self._unavoidable,
            self._forecast,
        )

    def reduce(self) -> TrainingRecord:
        """Everything that all processes of `torch.distributed` have seen, added up.

        All of them call it after the same number of updates, and all get the same record. The
        monitor itself goes on as before.
        """
        return self.record if self.distributed else added_up(self.record)

    def expect(self, forecast: Forecast) -> None:
        """Show a forecast beside what happens.

        Args:
            forecast: of the same directions: `sads.forecast(network, data,
                directions=monitor.directions)`.
        """
        self._forecast = expected_order(forecast, self.directions.labels)

    def loss(self, last: int | None = None) -> Float[np.ndarray, "k B"]:
        """Mean squared error of one direction, by group of directions and bin of noise levels."""
        return self.record.loss(last)

    def lagging(self) -> tuple[Lag, ...]:
        """Groups of directions that are learned late, and since when."""
        return self.record.lagging()

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each window, group and bin of noise levels; needs pandas."""
        return self.record.to_frame()

    def report(self, path: str | Path, *, force: bool = True) -> None:
        """Write a page about the training so far, one file to open offline.

        Args:
            path: the file to write.
            force: whether to replace an existing file, as a training loop does now and then.
        """
        self.record.report(path, force=force)

    def on_window(self, callback: Callback) -> None:
        """Call `callback(updates, scalars)` whenever a window is complete."""
        self._callbacks.append(callback)

    def log_to(self, writer: Any) -> None:
        """Send scalars and a picture to TensorBoard or Weights & Biases with every window.

        Args:
            writer: a `SummaryWriter` of TensorBoard, or what `wandb.init` returned.
        """
        log = logger_of(writer)
        self.on_window(lambda step, values: log(step, values, self.record.picture()))

    def flush(self) -> None:
        """Write everything to the directory now."""
        if self._out is not None:
            write_record(self._out, self.record)
            self._flushed = clock.monotonic()

    def close(self) -> None:
        """Flush, and release the directory for other processes."""
        self.flush()
        self._out = None
        self._lock.close()

    def __exit__(self, *exception: object) -> None:
        self.close()


def _samples(data: Dataset | np.ndarray | Tensor) -> Float[np.ndarray, "N ..."]:
    if isinstance(data, Tensor):
        return data.detach().cpu().float().numpy()
    return data.samples if isinstance(data, Dataset) else np.asarray(data)
