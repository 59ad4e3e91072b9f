"""A monitor inside anybody's training loop: the loss by direction and noise level, streaming.

The sums of `training_record` stay on the device of the predictions and come to the host once in a
while, as one window. When there are many windows, neighbours are added up, so that memory does not
grow with the number of steps.
"""

import time as clock
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..directions.sets import Columns, DirectionSet, MeansAndBands
from ..errors import InputError
from ..geometry import Geometry
from ..path import Schedule
from ..storage.files import writing
from .projections import Energies
from .training_record import FILE, Lag, TrainingRecord, Window, load_record, store_record

BINS = 10
EVERY = 50  # updates in a window, until there are many
WINDOWS = 256  # kept at most
FLUSH_SECONDS = 30.0
TOGETHER = 2**22  # entries of residuals that are projected at once

TimeKind = Literal["index", "unit", "thousand"]
Callback = Callable[[int, Mapping[str, float]], None]


class Monitor:
    """Loss by direction and noise level, kept in three lines of anybody's training loop.

    >>> monitor = Monitor((1, 8, 8))
    >>> prediction, target = torch.zeros(4, 1, 8, 8), torch.ones(4, 1, 8, 8)
    >>> monitor.update(prediction, target, torch.tensor([0, 300, 600, 900]))
    >>> round(float(np.nanmax(monitor.loss())), 6)  # all of it is in the mean of the channel
    64.0

    Args:
        shape: shape of one sample.
        directions: a geometry (its bands are told apart), an array with an orthonormal direction a
            column, a set of directions, or nothing: the mean of each channel and bands of
            frequency.
        schedule: the noise schedule; its number of steps is the range of whole-number times.
        time: what t is: `index` (whole numbers below the schedule's steps), `unit` (in [0, 1]) or
            `thousand` (in [0, 1000]).
        bins: bins of noise levels, of equal width in t.
        every: updates in a window of the history; it doubles whenever the history is full.
        out: a directory in which everything is kept; a monitor that is there already goes on.
        flush_seconds: how often it is written there; a killed process loses at most the updates
            since then.
        distributed: add up over all processes of `torch.distributed` whenever a window is complete.
            All of them update alike and read results at the same updates; give `out` to one alone.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        directions: Geometry | DirectionSet | np.ndarray | None = None,
        *,
        schedule: Schedule | None = None,
        time: TimeKind = "index",
        bins: int = BINS,
        every: int = EVERY,
        out: str | Path | None = None,
        flush_seconds: float = FLUSH_SECONDS,
        distributed: bool = False,
    ):
        if bins < 1 or every < 1:
            raise InputError(f"bins and every are at least 1, got {bins} and {every}")
        self.shape: tuple[int, ...] = tuple(shape)
        self.directions: DirectionSet = told_apart(self.shape, directions)
        self.edges: np.ndarray = np.linspace(0, time_range(time, schedule or Schedule()), bins + 1)
        self.distributed = distributed
        self.updates: int = 0
        self.skipped: int = 0
        self._every = every
        self._windows: list[Window] = []
        self._callbacks: list[Callback] = []
        self._sums: _Sums | None = None
        self._out = None if out is None else Path(out)
        self._flush_seconds, self._flushed = flush_seconds, clock.monotonic()
        self._lock = ExitStack()
        if self._out is not None:
            self._lock.enter_context(writing(self._out))
            self._go_on(self._out)

    def _go_on(self, directory: Path) -> None:
        """Take over what an earlier process has stored."""
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
        self.updates = before.updates
        spans = [window.end - window.first for window in before.windows]
        self._every = max([self._every, *spans])

    def update(self, prediction: Tensor, target: Tensor, t: Tensor) -> None:
        """Add one batch.

        Args:
            prediction: what the network returned, (N, *shape); no gradient is kept.
            target: what the loss compares it with, (N, *shape).
            t: the time of each sample, (N,), or one for all.
        """
        self._check(prediction, target, t)
        if self._sums is None or self._sums.device != prediction.device:
            self._close_window()
            self._sums = _Sums(self.directions, self.edges, prediction.device)
        self._sums.add(prediction, target, t)
        self.updates += 1
        if self.updates - self._counted >= self._every:
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

    @property
    def _counted(self) -> int:
        """Updates that are in a window already."""
        return self._windows[-1].end if self._windows else 0

    def _close_window(self) -> None:
        """Bring the sums to the host, as one more window."""
        if self._sums is None or self.updates == self._counted:
            return
        energy, count, skipped = self._sums.taken(distributed=self.distributed)
        self.skipped += skipped
        self._windows.append(Window(self._counted, self.updates, energy, count))
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
        )

    def loss(self, last: int | None = None) -> Float[np.ndarray, "k B"]:
        """Mean squared error of one direction, by group of directions and bin of noise levels."""
        return self.record.loss(last)

    def lagging(self) -> tuple[Lag, ...]:
        """Groups of directions that are learned late, and since when."""
        return self.record.lagging()

    def on_window(self, callback: Callback) -> None:
        """Call `callback(updates, scalars)` whenever a window is complete.

        `lambda step, values: [writer.add_scalar(k, v, step) for k, v in values.items()]` serves
        TensorBoard, `lambda step, values: wandb.log(values, step=step)` Weights & Biases.
        """
        self._callbacks.append(callback)

    def flush(self) -> None:
        """Write everything to the directory now."""
        if self._out is not None:
            store_record(self.record, self._out)
            self._flushed = clock.monotonic()

    def close(self) -> None:
        """Flush, and let another process have the directory."""
        self.flush()
        self._out = None
        self._lock.close()

    def __enter__(self) -> "Monitor":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Sums:
    """Sums on the device of the predictions."""

    def __init__(
        self, directions: DirectionSet, edges: Float[np.ndarray, " B1"], device: torch.device
    ):
        self.device, self.energies = device, Energies(directions, device)
        self.dtype = self.energies.dtype
        self.inner = torch.from_numpy(edges[1:-1]).to(device, self.dtype)
        self.bins, self.groups = len(edges) - 1, len(directions.widths)
        self._clear()

    def _clear(self) -> None:
        self.energy = torch.zeros(self.bins, self.groups, device=self.device, dtype=self.dtype)
        self.count = torch.zeros(self.bins, device=self.device, dtype=self.dtype)
        self.skipped = torch.zeros((), device=self.device, dtype=self.dtype)

    @torch.no_grad()
    def add(self, prediction: Tensor, target: Tensor, t: Tensor) -> None:
        """Add samples; those with values that are not finite are left out and counted."""
        times = t.detach().reshape(-1).to(self.device, self.dtype)
        times = times.expand(len(prediction)).contiguous()
        rows = max(1, TOGETHER // self.energies.size)
        for start in range(0, len(prediction), rows):
            part = slice(start, start + rows)
            residual = prediction[part].to(self.dtype) - target[part].to(self.dtype)
            energy = self.energies(residual.flatten(1))
            usable = energy.isfinite().all(dim=1) & times[part].isfinite()
            bins = torch.bucketize(times[part], self.inner, right=True)
            self.energy.index_add_(0, bins, torch.where(usable[:, None], energy, 0.0))
            self.count.index_add_(0, bins, usable.to(self.dtype))
            self.skipped += (~usable).sum()

    def taken(
        self, *, distributed: bool
    ) -> tuple[Float[np.ndarray, "B k"], Float[np.ndarray, " B"], int]:
        """The sums since the last call, on the host, and how many samples were left out."""
        parts = (self.energy, self.count, self.skipped)
        if distributed:
            for part in parts:
                torch.distributed.all_reduce(part)
        energy, count, skipped = (part.double().cpu().numpy() for part in parts)
        self._clear()
        return energy, count, int(skipped)


def told_apart(
    shape: tuple[int, ...], directions: Geometry | DirectionSet | np.ndarray | None
) -> DirectionSet:
    """The groups of directions that a monitor tells apart."""
    if directions is None:
        return MeansAndBands(shape)
    if isinstance(directions, Geometry):
        return bands_of(directions, shape)
    if isinstance(directions, DirectionSet):
        if directions.shape != shape:
            raise InputError(f"the directions are of samples {directions.shape}, expected {shape}")
        return directions
    return Columns(shape, np.asarray(directions, dtype=float))


def bands_of(geometry: Geometry, shape: tuple[int, ...]) -> DirectionSet:
    """The bands of a geometry as groups of its eigenvectors."""
    if geometry.shape != shape:
        raise InputError(f"the geometry is of samples {geometry.shape}, expected {shape}")
    spectrum = geometry.spectrum()
    widths = [band.width for band in spectrum.bands]
    names = tuple(
        f"level {band.first}" if band.width == 1 else f"levels {band.first}-{band.last}"
        for band in spectrum.bands
    )
    return Columns(shape, spectrum.eigenvectors, np.repeat(np.arange(len(widths)), widths), names)


def time_range(kind: TimeKind, schedule: Schedule) -> float:
    """The end of the range of times, which begins with zero."""
    ranges = {"index": float(schedule.steps), "unit": 1.0, "thousand": 1000.0}
    if kind not in ranges:
        raise InputError(f"time is one of {', '.join(ranges)}, got {kind!r}")
    return ranges[kind]
