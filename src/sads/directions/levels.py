"""Levels: the distinct eigenvalues of every sector, and how well each of them is known.

A level stands for as many directions as the structure and the symmetries say: the copies of the
factor's rows times the images of its sector. These are exact groups, and so is the null space,
which is one level whatever its size. The networks have to distinguish levels.

*Intervals of eigenvalues* hold for all levels at once with 95 %. They are lambda_i times or divided
by exp(h_i / lambda_i), where h_i is t standard errors plus the distance between what the networks
behind an eigenvector and other networks show along it. t is the quantile of Student's distribution
with `FOLDS` - 1 degrees of freedom, corrected for the number of levels; the standard error is
raised where an eigenvector has fitted its noise away (`mixing`). Since eigenvalues of a sector
descend, a level is below all limits of those before it and above all of those behind it.

*Gaps.* In descending order a gap has levels before and behind it. It is significant if for any two
sectors the last level of one before it is larger than the first of the other behind it: Student's t
of their differences over the folds, at 5 % for all gaps at once. A difference counts as the smaller
of that of the eigenvalues and that of what other networks show, so that the order of equal
eigenvalues makes no gap.

*Interval of the index.* Directions whose eigenvalues are certainly larger come first, those whose
eigenvalues are certainly smaller come last, and no level crosses a significant gap; a level's index
is somewhere between. Levels of one sector may mix, and their window says how far (`mixing`). Levels
of different sectors cannot mix, but their order may differ from the true one, and this interval
says by how much.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import isotonic_regression
from scipy.stats import t as student

from .folds import FOLDS, SectorFolds
from .mixing import CONFIDENCE, Mixing
from .symmetry import NULL
from .whitening import numerical_range

MOST = 50.0  # largest exponent
UNSEEN = 100 * NULL  # other networks show more than this in a false null space


@dataclass(frozen=True)
class Resolution:
    """What is known about one level, with 95 % confidence.

    Attributes:
        index: the index of its first direction, in descending order of eigenvalue.
        multiplicity: directions that share its eigenvalue exactly.
        window: all but 5 % of the energy of its directions lies in the true levels at most this
            many places before or behind it in its sector.
        index_low: the smallest index that its directions may have.
        index_high: the largest.
        eigenvalue_low: lower limit of its eigenvalue; the limits of all levels hold at once.
        eigenvalue_high: upper limit of its eigenvalue.
        null: whether this is the null space.

    >>> import sads
    >>> geometry = sads.estimate_geometry("cnn", shape="1x4x4", networks=24)
    >>> level = geometry.spectrum().resolution_of(0)
    >>> bool(level.eigenvalue_low < geometry.spectrum().eigenvalues[0] < level.eigenvalue_high)
    True
    """

    index: int
    multiplicity: int
    window: int
    index_low: int
    index_high: int
    eigenvalue_low: float
    eigenvalue_high: float
    null: bool = False


@dataclass(frozen=True)
class SectorLevels:
    """The levels of one sector, in descending order.

    Attributes:
        mixing: the energies behind the windows, for the levels that are not zero.
        null: which levels are numerically zero.
        values: eigenvalues without bias.
        others: what networks show that were not used for the eigenvectors.
        errors: standard errors.
        low: lower limits that hold for the levels of all sectors at once.
        high: upper limits, likewise.
        windows: how far each level is spread over its neighbours.
    """

    mixing: Mixing
    null: Bool[np.ndarray, " s"]
    values: Float[np.ndarray, " s"]
    others: Float[np.ndarray, " s"]
    errors: Float[np.ndarray, " s"]
    low: Float[np.ndarray, " s"]
    high: Float[np.ndarray, " s"]
    windows: Int[np.ndarray, " s"]

    @classmethod
    def of(cls, part: SectorFolds, largest: float, spread: float) -> "SectorLevels":
        """From the folds; `spread` is how many standard errors hold for all levels at once."""
        null = ~numerical_range(part.pooled[0], largest)
        own, others = part.cross_fitted
        # Other networks are zero on a true null space, but not on one from too few networks.
        seen = not np.any(others[null] > UNSEEN * largest)
        live, size = int((~null).sum()), len(null)
        mixing = Mixing.of(part, live, seen=seen)
        windows = np.full(size, 0 if seen else size - 1)
        if seen:
            windows[:live] = mixing.windows
        values = np.where(null, 0.0, (own + others) / 2)
        errors = np.where(null, 0.0, part.errors)
        reach = np.where(null, 0.0, spread * errors * part.raised + np.abs(own - others))
        above = np.where(null & (not seen), np.inf, _times(values, reach))
        low = np.maximum.accumulate(_times(values, -reach)[::-1])[::-1]
        high = np.minimum.accumulate(above)
        return cls(mixing, null, values, others, errors, low, high, windows)


@dataclass(frozen=True)
class Levels:
    """The levels of all sectors in one descending order; those that are zero are the last.

    Attributes:
        sectors: the levels of each sector.
        sector: which sector each level is in.
        rank: its place in that sector.
        multiplicity: the number of rows of the factor that it stands for.
        values: eigenvalues, without bias and descending.
        forms: u_i^T F_k u_i of each fold.
    """

    sectors: tuple[SectorLevels, ...]
    sector: Int[np.ndarray, " v"]
    rank: Int[np.ndarray, " v"]
    multiplicity: Int[np.ndarray, " v"]
    values: Float[np.ndarray, " v"]
    forms: Float[np.ndarray, "K v"]

    @classmethod
    def of(cls, parts: list[SectorFolds]) -> "Levels":
        """All sectors' levels, in the order of the pooled estimate."""
        plain = np.concatenate([part.pooled[0] for part in parts])
        largest = float(plain.max())
        spread = simultaneous(int(numerical_range(plain, largest).sum()))
        levels = tuple(SectorLevels.of(part, largest, spread) for part in parts)
        order = np.argsort(-plain, kind="stable")
        sizes = [part.sector.size for part in parts]
        multiplicity = np.repeat([part.sector.multiplicity for part in parts], sizes)[order]
        fitted = isotonic_regression(
            np.concatenate([one.values for one in levels])[order],
            weights=multiplicity.astype(float),
            increasing=False,
        ).x
        return cls(
            sectors=levels,
            sector=np.repeat(np.arange(len(parts)), sizes)[order],
            rank=np.concatenate([np.arange(size) for size in sizes])[order],
            multiplicity=multiplicity,
            values=np.maximum(fitted, 0.0),
            forms=np.hstack([part.scatter[1] for part in parts])[:, order],
        )

    def __len__(self) -> int:
        return len(self.sector)

    def gather(self, field: Callable[[SectorLevels], np.ndarray]) -> np.ndarray:
        """Values of the sectors' levels, in the order of all levels."""
        parts = [field(one) for one in self.sectors]
        starts = np.cumsum([0, *(len(part) for part in parts)])
        return np.concatenate(parts)[starts[self.sector] + self.rank]

    @cached_property
    def null(self) -> Bool[np.ndarray, " v"]:
        """Which levels are numerically zero."""
        return self.gather(lambda one: one.null)

    @cached_property
    def low(self) -> Float[np.ndarray, " v"]:
        """Lower limits of the eigenvalues, for all at once."""
        return np.clip(self.gather(lambda one: one.low), 0.0, self.values)

    @cached_property
    def high(self) -> Float[np.ndarray, " v"]:
        """Upper limits; for a sector that no network has shown, the largest known limit."""
        high = self.gather(lambda one: one.high)
        known = high[np.isfinite(high)].max(initial=0.0)
        return np.maximum(np.where(np.isfinite(high), high, known), self.values)

    @cached_property
    def zero(self) -> Bool[np.ndarray, " v"]:
        """Which levels are truly zero, and not for lack of networks."""
        seen = np.array([one.mixing.seen for one in self.sectors])
        return self.null & seen[self.sector]

    @cached_property
    def gaps(self) -> Float[np.ndarray, " v_1"]:
        """Student's t of the gap behind each level but the last; the null space is apart."""
        place = np.arange(len(self))
        after, before = [], []  # of each gap: the next level of a sector, and the one before
        for number in range(len(self.sectors)):
            own = np.flatnonzero(self.sector == number)
            up_to = np.searchsorted(own, place[:-1], side="right")
            before.append(np.where(up_to > 0, own[up_to - 1], -1))
            after.append(np.where(up_to < len(own), own[np.minimum(up_to, len(own) - 1)], -1))
        least = np.full(len(self) - 1, np.inf)
        for larger in before:
            for smaller in after:
                t = self._difference(larger, smaller)
                least = np.minimum(least, np.where((larger < 0) | (smaller < 0), np.inf, t))
        edge = self.null[1:] & ~self.null[:-1]
        inside = self.null[1:] & self.null[:-1]
        return np.where(edge, np.inf, np.where(inside, 0.0, least))

    def _difference(
        self, larger: Int[np.ndarray, " g"], smaller: Int[np.ndarray, " g"]
    ) -> Float[np.ndarray, " g"]:
        """Student's t of the difference between pairs of levels."""
        others = self.gather(lambda one: one.others)
        values = self.gather(lambda one: one.values)
        gap = np.minimum(values[larger] - values[smaller], others[larger] - others[smaller])
        folds = self.forms[:, larger] - self.forms[:, smaller]
        errors = folds.std(axis=0, ddof=1) / np.sqrt(len(folds))
        with np.errstate(over="ignore"):  # t is infinite without scatter
            return gap / np.maximum(errors, np.finfo(float).tiny)

    @cached_property
    def apart(self) -> Bool[np.ndarray, " v1"]:
        """Whether the gap before each level is significant; those at both ends are."""
        count = int((~self.null).sum()) - 1
        # Two-sided, since the order of levels from different sectors comes from the same networks.
        return np.concatenate([[True], self.gaps > simultaneous(count), [True]])

    def resolutions(self, copies: int) -> tuple[Resolution, ...]:
        """What is known of each level, for as many copies of the factor; the null space is one."""
        first, last = self._ranks()
        starts = np.concatenate([[0], self.multiplicity.cumsum()])
        windows = self.gather(lambda one: one.windows)
        known = [
            Resolution(
                index=int(starts[i]) * copies,
                multiplicity=int(self.multiplicity[i]) * copies,
                window=int(windows[i]),
                index_low=int(first[i]) * copies,
                index_high=int(last[i] + 1) * copies - 1,
                eigenvalue_low=float(self.low[i]),
                eigenvalue_high=float(self.high[i]),
            )
            for i in np.flatnonzero(~self.zero)
        ]
        rest = int(self.multiplicity[self.zero].sum()) * copies
        if rest:
            size = int(starts[-1]) * copies
            known.append(Resolution(size - rest, rest, 0, size - rest, size - 1, 0.0, 0.0, True))
        return tuple(known)

    def _ranks(self) -> tuple[Int[np.ndarray, " v"], Int[np.ndarray, " v"]]:
        """The first and the last row of the factor that each level may have in the true order."""
        low = np.where(self.zero, -np.inf, self.low)
        high = np.where(self.zero, -np.inf, self.high)
        total = int(self.multiplicity.sum())
        larger = total - _weight_up_to(low, self.multiplicity, high, "right")
        smaller = _weight_up_to(high, self.multiplicity, low, "left")
        if not all(one.mixing.seen for one in self.sectors):
            return larger, total - 1 - smaller
        edges = np.flatnonzero(self.apart)
        block = np.searchsorted(edges, np.arange(len(self)), side="right") - 1
        starts = np.concatenate([[0], self.multiplicity.cumsum()])
        last = np.minimum(total - smaller, starts[edges[block + 1]]) - 1
        return np.maximum(larger, starts[edges[block]]), last


def _weight_up_to(
    values: Float[np.ndarray, " v"],
    weights: Int[np.ndarray, " v"],
    limits: Float[np.ndarray, " v"],
    side: Literal["left", "right"],
) -> Int[np.ndarray, " v"]:
    """The weight of the values below each limit; for `right`, of those equal to it too."""
    order = np.argsort(values)
    sums = np.concatenate([[0], weights[order].cumsum()])
    return sums[np.searchsorted(values[order], limits, side=side)]


def _times(
    values: Float[np.ndarray, " s"], reach: Float[np.ndarray, " s"]
) -> Float[np.ndarray, " s"]:
    """Values times exp(reach / value); zero and what is below it are moved by the reach."""
    positive = np.where(values > 0, values, 1.0)
    times = positive * np.exp(np.minimum(reach / positive, MOST))
    return np.where(values > 0, times, np.maximum(reach, 0.0))


def simultaneous(count: int) -> float:
    """Standard errors on either side that hold for so many levels at once with 95 %."""
    return float(student.ppf(1 - (1 - CONFIDENCE) / (2 * max(count, 1)), FOLDS - 1))
