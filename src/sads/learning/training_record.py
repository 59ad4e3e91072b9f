"""What a monitor has seen of a training: the loss by direction, noise level and time.

With U_g the directions of group g and B_b a bin of noise levels, a *window* of some updates holds

    S[b, g] = sum over samples with t in B_b of |U_g^T (prediction - target)|^2,
    T[b, g] = the same of |U_g^T target|^2,
    Q[b, g] = the same of the squared difference of the two,
    n[b]    = how many samples there were,

so that L = S / n over the width of the group is the mean squared error of one direction there, and
E = T / n over the width is what it would be for a network that always returns zero.

The loss has a part F that no network can avoid, which differs between directions and noise levels.
So groups are compared by the *learned share*, sums over the noise levels,

    sum_b (E - L) / sum_b (E - F),

with F from the data (`unavoidable_loss`), or zero where no data were given. Its standard error is
that of its numerator, from Q.
"""

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from ..foundation.data_frames import as_frame
from ..foundation.rendering import Reported
from ..storage.files import writing
from .expected_order import ExpectedOrder

if TYPE_CHECKING:
    import pandas

LAG = 0.5  # a group lags if its learned share is below this part of the median share
BEYOND = 2.0  # standard errors by which it has to be below
LITTLE = 0.02  # of the target's energy; with less than this to learn, no share is given


@dataclass(frozen=True, eq=False)
class Window:
    """What some updates in a row have added up to.

    Attributes:
        first: number of the first update, from 0 on.
        end: number of the update after the last.
        energy: S, by bin of noise levels and group.
        target: T, likewise.
        squares: Q, likewise.
        count: n, samples in each bin.
    """

    first: int
    end: int
    energy: Float[np.ndarray, "B k"]
    target: Float[np.ndarray, "B k"]
    squares: Float[np.ndarray, "B k"]
    count: Float[np.ndarray, " B"]

    def __add__(self, other: "Window") -> "Window":
        return Window(
            self.first,
            other.end,
            self.energy + other.energy,
            self.target + other.target,
            self.squares + other.squares,
            self.count + other.count,
        )


@dataclass(frozen=True)
class Lag:
    """A group of directions that is learned late.

    Attributes:
        label: name of the group.
        since: the update since which it has lagged.
        learned: the share of what there is to learn that it has taken up.
        error: its standard error.
        usual: the median share over all groups.
    """

    label: str
    since: int
    learned: float
    error: float
    usual: float


@dataclass(frozen=True, eq=False)
class TrainingRecord(Reported):
    """The loss of a training by direction, noise level and time.

    Attributes:
        shape: shape of one sample.
        labels: names of the groups of directions.
        widths: directions in each group.
        edges: the edges of the bins of noise levels, in the units of t.
        windows: the oldest first.
        skipped: samples that were left out because a value was not finite.
        unavoidable: F, by group and bin; None where no data were given.
        forecast: the forecast for each group; None without one.

    >>> import sads, torch
    >>> monitor = sads.Monitor((1, 8, 8))
    >>> half = torch.ones(4, 1, 8, 8)
    >>> monitor.update(half, 2 * half, torch.tensor([0, 300, 600, 900]))
    >>> record = monitor.record
    >>> record.updates, round(float(record.learned()[-1, 0]), 6)
    (1, 0.75)
    """

    shape: tuple[int, ...]
    labels: tuple[str, ...]
    widths: Int[np.ndarray, " k"]
    edges: Float[np.ndarray, " B1"]
    windows: tuple[Window, ...]
    skipped: int
    unavoidable: Float[np.ndarray, "k B"] | None = None
    forecast: ExpectedOrder | None = None

    def save(self, directory: str | Path) -> None:
        """Write `monitor.safetensors` into a directory, atomically."""
        from .record_artefact import write_record

        with writing(Path(directory)):
            write_record(Path(directory), self)

    @property
    def updates(self) -> int:
        """How many batches were seen."""
        return self.windows[-1].end if self.windows else 0

    def loss(self, last: int | None = None) -> Float[np.ndarray, "k B"]:
        """Mean squared error of one direction, by group of directions and bin of noise levels.

        Args:
            last: use only windows that reach into this many last updates; all unless given.

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
        return self._means(window.energy, window.count)

    def _means(
        self, sums: Float[np.ndarray, "B k"], count: Float[np.ndarray, " B"]
    ) -> Float[np.ndarray, "k B"]:
        """Means over samples and the directions of a group; NaN where there was no sample."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return (sums / count[:, None]).T / self.widths[:, None]

    @cached_property
    def _to_learn(self) -> Float[np.ndarray, "k B"]:
        """E - F from all windows together."""
        whole = reduce(add, self.windows)
        floor = 0.0 if self.unavoidable is None else self.unavoidable
        return self._means(whole.target, whole.count) - floor

    @cached_property
    def _shares(self) -> tuple[Float[np.ndarray, "windows k"], Float[np.ndarray, "windows k"]]:
        """The learned share of each group and its standard error, window by window."""
        if not self.windows:
            return np.zeros((0, len(self.labels))), np.zeros((0, len(self.labels)))
        shares, errors = zip(*map(self._share, self.windows), strict=True)
        return np.stack(shares), np.stack(errors)

    def _share(self, window: Window) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        seen = window.count > 0
        gain = self._means(window.target - window.energy, window.count)[:, seen]
        energy = self._means(window.target, window.count)[:, seen].sum(axis=1)
        square = self._means(window.squares, window.count)[:, seen] / self.widths[:, None]
        variance = np.maximum(square - gain**2, 0.0) / np.maximum(window.count[seen], 1)
        whole = self._to_learn[:, seen].sum(axis=1)
        whole = np.where(whole > LITTLE * energy, whole, np.nan)
        return gain.sum(axis=1) / whole, np.sqrt(variance.sum(axis=1)) / whole

    def learned(self) -> Float[np.ndarray, "windows k"]:
        """The learned share of each group, window by window.

        It is one where everything that can be learned has been learned, negative where the network
        is worse than one that returns zero, and NaN where there is almost nothing to learn.
        """
        return self._shares[0]

    def learned_error(self) -> Float[np.ndarray, "windows k"]:
        """Its standard error."""
        return self._shares[1]

    def lagging(self) -> tuple[Lag, ...]:
        """Groups whose learned share is below half of the median one's, the furthest behind first.

        The difference has to exceed its errors. No group is called late as long as the median
        group has learned nothing.
        """
        learned, error = self._shares
        known = np.isfinite(learned)
        if len(learned) < 2 or not known[-1].any() or np.median(learned[-1, known[-1]]) <= 0:
            return ()
        usual = np.array(
            [np.median(row[k]) if k.any() else 0.0 for row, k in zip(learned, known, strict=True)]
        )
        bar = LAG * np.clip(usual, 0, 1)[:, None]  # a share above one is no standard for the others
        behind = np.where(known, learned + BEYOND * error, np.inf) < bar
        starts = [window.first for window in self.windows]
        lags = [
            Lag(
                label=self.labels[group],
                since=starts[_start_of_last_run(behind[:, group])],
                learned=float(learned[-1, group]),
                error=float(error[-1, group]),
                usual=float(usual[-1]),
            )
            for group in np.flatnonzero(behind[-1])
        ]
        return tuple(sorted(lags, key=lambda lag: lag.learned))

    def scalars(self) -> dict[str, float]:
        """Loss and learned share of each group in the last window: for TensorBoard and the like."""
        if not self.windows:
            return {}
        loss = self.loss_of(self.windows[-1])
        seen = self.windows[-1].count > 0
        values = {"loss": loss[:, seen].mean(axis=1), "learned": self.learned()[-1]}
        return {
            f"{name}/{label}": float(value)
            for name, row in values.items()
            for label, value in zip(self.labels, row, strict=True)
            if np.isfinite(value)
        }

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

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each window, group and bin of noise levels; needs pandas."""
        return as_frame(self.rows())


def _start_of_last_run(flags: np.ndarray) -> int:
    """The start of the run of true values that lasts to the end."""
    return 0 if flags.all() else int(len(flags) - np.argmin(flags[::-1]))
