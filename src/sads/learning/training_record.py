"""What a monitor has seen of a training: the loss by direction, noise level and time.

With U_g the directions of group g and B_b a bin of noise levels, a *window* of some updates holds

    S[b, g] = sum over samples with t in B_b of |U_g^T (prediction - target)|^2,
    n[b]    = how many samples there were,

so that S / n over the width of the group is the mean squared error of one direction there.

The loss has a part that no network can avoid, which differs between directions and noise levels.
So groups are compared by their *progress*, the share of a group's first loss that has gone.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..errors import InputError
from ..storage.sealed import expect, parse_json, read_sealed, sensible, write_sealed

FILE, FORMAT = "monitor.safetensors", "sads.monitor/1"
LAG = 0.5  # a group lags whose progress is below this share of the median one's


@dataclass(frozen=True, eq=False)
class Window:
    """What some updates in a row have added up to.

    Attributes:
        first: number of the first update, from 0 on.
        end: number of the update after the last.
        energy: S, by bin of noise levels and group.
        count: n, samples in each bin.
    """

    first: int
    end: int
    energy: Float[np.ndarray, "B k"]
    count: Float[np.ndarray, " B"]

    def __add__(self, other: "Window") -> "Window":
        return Window(self.first, other.end, self.energy + other.energy, self.count + other.count)


@dataclass(frozen=True)
class Lag:
    """A group of directions that is learned late.

    Attributes:
        label: name of the group.
        since: the update from which on it lagged.
        progress: the share of its first loss that has gone.
        usual: the median over all groups.
    """

    label: str
    since: int
    progress: float
    usual: float


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """The loss of a training by direction, noise level and time.

    Attributes:
        shape: shape of one sample.
        labels: names of the groups of directions.
        widths: directions in each group.
        edges: of the bins of noise levels, in the units of t.
        windows: the oldest first.
        skipped: samples that were left out because a value was not finite.
    """

    shape: tuple[int, ...]
    labels: tuple[str, ...]
    widths: Int[np.ndarray, " k"]
    edges: Float[np.ndarray, " B1"]
    windows: tuple[Window, ...]
    skipped: int

    @property
    def updates(self) -> int:
        """How many batches were seen."""
        return self.windows[-1].end if self.windows else 0

    def loss(self, last: int | None = None) -> Float[np.ndarray, "k B"]:
        """Mean squared error of one direction, by group of directions and bin of noise levels.

        Args:
            last: only windows that reach into the last so many updates; all unless given.

        Returns:
            NaN where there was no sample.
        """
        since = 0 if last is None else self.updates - last
        windows = [window for window in self.windows if window.end > since]
        if not windows:
            return np.full((len(self.labels), len(self.edges) - 1), np.nan)
        return self.loss_of(reduce(add, windows))

    def loss_of(self, window: Window) -> Float[np.ndarray, "k B"]:
        """The loss in one window."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return (window.energy / window.count[:, None]).T / self.widths[:, None]

    def progress(self) -> Float[np.ndarray, "windows k"]:
        """The share of each group's first loss that has gone, window by window.

        It is the mean over the bins of noise levels that both windows have, each by itself, so
        that the chance in the draw of times does not count as progress.
        """
        losses = [self.loss_of(window) for window in self.windows]
        if not losses:
            return np.zeros((0, len(self.labels)))
        return 1 - np.stack([_mean_of_finite(_ratio(loss, losses[0])) for loss in losses])

    def lagging(self) -> tuple[Lag, ...]:
        """Groups whose progress is below half of the median one's, the furthest behind first."""
        progress = self.progress()
        if len(progress) < 2:
            return ()
        usual = np.nanmedian(progress, axis=1)
        behind = progress < LAG * np.maximum(usual, 0)[:, None]
        starts = [window.first for window in self.windows]
        lags = [
            Lag(
                label=self.labels[group],
                since=starts[_start_of_last_run(behind[:, group])],
                progress=float(progress[-1, group]),
                usual=float(usual[-1]),
            )
            for group in np.flatnonzero(behind[-1])
        ]
        return tuple(sorted(lags, key=lambda lag: lag.progress))

    def scalars(self) -> dict[str, float]:
        """The last window's loss of each group, by name: for TensorBoard and the like."""
        if not self.windows:
            return {}
        means = _mean_of_finite(self.loss_of(self.windows[-1]))
        return {f"loss/{label}": float(v) for label, v in zip(self.labels, means, strict=True)}

    def rows(self) -> list[dict[str, Any]]:
        """One row for each window, group and bin of noise levels that has samples."""
        rows: list[dict[str, Any]] = []
        for window in self.windows:
            loss = self.loss_of(window)
            for group, bin_ in np.argwhere(np.isfinite(loss)):
                rows.append(
                    {
                        "first": window.first,
                        "end": window.end,
                        "direction": self.labels[group],
                        "t_from": float(self.edges[bin_]),
                        "t_to": float(self.edges[bin_ + 1]),
                        "loss": float(loss[group, bin_]),
                        "samples": int(window.count[bin_]),
                    }
                )
        return rows


def _ratio(a: Float[np.ndarray, "k B"], b: Float[np.ndarray, "k B"]) -> Float[np.ndarray, "k B"]:
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = a / b
    return np.where(np.isfinite(ratio), ratio, np.nan)


def _mean_of_finite(table: Float[np.ndarray, "k B"]) -> Float[np.ndarray, " k"]:
    """Means over the bins that have a value; NaN where none has."""
    known = np.isfinite(table)
    counts = known.sum(axis=1)
    sums = np.where(known, table, 0.0).sum(axis=1)
    return np.divide(sums, counts, out=np.full(len(table), np.nan), where=counts > 0)


def _start_of_last_run(flags: np.ndarray) -> int:
    """Where the run of true values begins that lasts to the end."""
    return 0 if flags.all() else int(len(flags) - np.argmin(flags[::-1]))


def store_record(record: TrainingRecord, directory: Path) -> None:
    """Write a record to a directory, atomically."""
    header = {
        "shape": list(record.shape),
        "labels": list(record.labels),
        "skipped": record.skipped,
    }
    tensors = {
        "widths": np.asarray(record.widths, dtype=np.int64),
        "edges": record.edges,
        "spans": np.array([[w.first, w.end] for w in record.windows], np.int64).reshape(-1, 2),
        "energy": _stacked([w.energy for w in record.windows], record),
        "count": _stacked([w.count for w in record.windows], record),
    }
    write_sealed(directory / FILE, FORMAT, {"record": json.dumps(header)}, tensors)


def _stacked(arrays: Sequence[np.ndarray], record: TrainingRecord) -> np.ndarray:
    return np.stack(arrays) if arrays else np.zeros((0, len(record.edges) - 1))


def load_record(directory: str | Path) -> TrainingRecord:
    """The record that a monitor keeps in a directory.

    Raises:
        InputError: if there is none.
        ArtefactError: if it is damaged.
    """
    path = Path(directory) / FILE
    if not path.is_file():
        raise InputError(f"no monitor in {directory}: give sads.Monitor this directory as out")
    stored = read_sealed(path, FORMAT)
    with sensible(path):
        header, tensors = parse_json(stored.metadata["record"]), stored.tensors
        labels = tuple(str(label) for label in header["labels"])
        widths, edges, spans = tensors["widths"], tensors["edges"], tensors["spans"]
        expect(len(widths) == len(labels) and (widths > 0).all(), "a width for each label")
        expect(edges.ndim == 1 and (np.diff(edges) > 0).all(), "rising edges of noise levels")
        expect((np.diff(spans.flatten()) >= 0).all(), "windows one after the other")
        energy, count = tensors["energy"], tensors["count"]
        if len(spans):
            expect(energy.shape == (len(spans), len(edges) - 1, len(labels)), "sums by bin")
            expect(count.shape == energy.shape[:2], "counts by bin")
            expect(np.isfinite(energy).all() and (count >= 0).all(), "finite sums and counts")
        windows = tuple(
            Window(int(first), int(end), energy[i], count[i])
            for i, (first, end) in enumerate(spans)
        )
        shape = tuple(int(side) for side in header["shape"])
        return TrainingRecord(shape, labels, widths, edges, windows, int(header["skipped"]))
