"""Bands: runs of levels whose eigenvalues the networks cannot tell apart, with certificates.

A single eigenvector from a group of equal eigenvalues means nothing: another sample of networks
gives another one. But the subspace of the group may mean something. So all levels, in descending
order, are cut into bands:

- at gaps that are significant for all gaps at once (`levels`);
- as long as a band holds two levels whose intervals (`levels`) are disjoint, at its largest t.

So no band contains two eigenvalues that are known to differ, and a long decay without gaps is cut
into short bands by the intervals alone.

*Certificate.* The overlap of the band's subspace with the true one is one minus the mean energy of
its eigenvectors in the other levels of their sectors (`mixing`). A band is certified if that energy
is below 5 % with 99 % confidence, and if the gaps on both sides are significant, so that its
indices are known too. A band of more than half of a sector's levels is never certified: it overlaps
with the truth by chance, and is known only because the other bands are.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from .levels import Levels
from .mixing import ALLOWED, Mixing, upper_limit

CERTAINTY = 0.99  # higher than for a window, since certificates are selected from many bands
REMAINDER = 0.5  # bands with a larger overlap by chance count as a remainder


@dataclass(frozen=True)
class Band:
    """Indices `first` to `last`, inclusive, in descending order of eigenvalue.

    Attributes:
        overlap: of the subspace with the true one, in [0, 1]; its expectation.
        overlap_error: how much it varies.
        certified: whether the overlap is at least 0.95 with 99 % confidence and the indices are
            known; never true for what the other bands leave over.
        null: whether these directions are outside the range of the geometry.
        exact: whether the band follows from a closed form or from structure alone.

    >>> import sads
    >>> sads.Band(first=4, last=7, overlap=0.99, overlap_error=0.001, certified=True).width
    4
    """

    first: int
    last: int
    overlap: float
    overlap_error: float
    certified: bool
    null: bool = False
    exact: bool = False

    @property
    def width(self) -> int:
        return self.last - self.first + 1


def bands(levels: Levels, copies: int) -> tuple[Band, ...]:
    """The bands over the D indices; `copies` is m."""
    significant = levels.apart
    weight = np.concatenate([[0], levels.multiplicity.cumsum()]) * copies
    return tuple(
        _certified(
            levels,
            slice(first, end),
            (int(weight[first]), int(weight[end]) - 1),
            bool(significant[first] and significant[end]),
        )
        for first, end in _cut(levels, np.flatnonzero(significant).tolist())
    )


def _cut(levels: Levels, edges: list[int]) -> list[tuple[int, int]]:
    """The bands as (first, end) among the levels, end exclusive; at least cut at the edges."""
    waiting = list(itertools.pairwise(edges))[::-1]
    cut = []
    while waiting:
        first, end = waiting.pop()
        if levels.low[first:end].max() > levels.high[first:end].min():
            middle = first + 1 + int(np.argmax(levels.gaps[first : end - 1]))
            waiting += [(middle, end), (first, middle)]
        else:
            cut.append((first, end))
    return cut


def _certified(levels: Levels, which: slice, ends: tuple[int, int], apart: bool) -> Band:
    """One band, and whether its subspace and its indices are known.

    Args:
        levels: all levels.
        which: the levels of the band.
        ends: its first and last index.
        apart: whether the gaps around it are significant.
    """
    if levels.null[which.start]:
        known = bool(levels.zero[which].all())
        return Band(*ends, float(known), 0.0, known, null=True)
    energy = squares = chance = 0.0  # weighted means over the band's directions
    seen = True
    directions = float(levels.multiplicity[which].sum())
    for number in np.unique(levels.sector[which]):
        own = which.start + np.flatnonzero(levels.sector[which] == number)
        mixing = levels.sectors[number].mixing
        leaked, leaked_squares = leaks(mixing, slice(levels.rank[own[0]], levels.rank[own[-1]] + 1))
        weight = float(levels.multiplicity[own[0]]) / directions
        energy += weight * leaked
        squares += weight**2 * leaked_squares
        if len(mixing.energies) > 1:  # a level alone in its sector is exact
            chance += weight * len(own) ** 2 / len(mixing.energies)
        seen = seen and mixing.seen
    limit = float(upper_limit(np.array([energy]), np.array([squares]), CERTAINTY)[0])
    return Band(
        *ends,
        overlap=float(np.clip(1 - energy, 0.0, 1.0)),
        overlap_error=float(np.sqrt(2 * squares)),
        certified=bool(apart and seen and limit <= ALLOWED and chance <= REMAINDER),
    )


def leaks(mixing: Mixing, ranks: slice) -> tuple[float, float]:
    """The energy of some neighbouring levels in the others, and the sum of its squares."""
    rows = mixing.energies[ranks]
    inside = rows[:, ranks]
    return (
        max(float(rows.sum() - inside.sum()), 0.0),
        max(float(np.sum(rows**2) - np.sum(inside**2)), 0.0),
    )
