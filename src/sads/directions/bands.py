"""Bands: groups of neighbouring eigenvectors that the data cannot separate, with certificates.

A single eigenvector out of a group of nearly equal eigenvalues means nothing: another sample of
networks gives another one. A *band* of k neighbouring indices means something if two independent
halves of the networks agree on its subspace,

    overlap = |U_A^T U_B|_F^2 / k,      1 for equal subspaces, about k/n for unrelated ones.

Grouping and certifying use different networks, otherwise bands that agree by luck are preferred.
The grouping takes the finest partition whose bands are expected to pass: halves of the grouping
folds lose 1 - overlap, which falls in proportion to the networks, so the certifying halves are
expected to lose `GROUPING_LOSS` times as much. Among partitions it minimises the sum of squared
widths.

A wide band overlaps by chance: by k/n for unrelated bases, by one for the whole space. A band is
certified if its overlap has gone 95 % of the way from there to one, which for narrow bands is an
overlap of 0.95. Where the networks tell nothing apart, nothing is certified.

The certificate is the mean overlap of the seven orthogonal halvings of the certifying folds, with
its standard error. The reported subspace, from all networks, is three times as precise as a half
and is compared with the truth instead of another half, so its expected loss is a sixth of the
certificate's.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from .folds import CERTIFYING, GROUPING, GROUPING_HALVES, SectorFolds, descending_eigh

CERTIFIED = 0.95
WHOLE = 1 - 1e-9  # a chance overlap of one: the band is the whole space, whatever the data
GROUPING_LOSS = GROUPING / CERTIFYING
MARGIN = 0.8  # the grouping aims at this fraction of the loss that a certificate allows


@dataclass(frozen=True)
class Band:
    """Indices `first` to `last`, inclusive, in descending order of eigenvalue.

    Attributes:
        overlap: agreement of the subspace between independent halves, in [0, 1].
        overlap_error: its standard error.
        certified: whether overlap is at least `CERTIFIED` of the way from chance to one.
        null: whether these directions are outside the range of the geometry.
        exact: whether the band follows from a closed form or from structure alone.
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


@dataclass(frozen=True)
class Levels:
    """Eigenvalues of all sectors in one descending order.

    Attributes:
        sector: which sector each level is in.
        rank: its place among the eigenvalues of that sector.
        multiplicity: how many factor indices it stands for.
        null: whether it is numerically zero.
    """

    sector: Int[np.ndarray, " v"]
    rank: Int[np.ndarray, " v"]
    multiplicity: Int[np.ndarray, " v"]
    null: np.ndarray

    def __len__(self) -> int:
        return len(self.sector)


def overlap_matrix(
    parts: list[SectorFolds], levels: Levels, bases: list[tuple[np.ndarray, np.ndarray]]
) -> Float[np.ndarray, "v v"]:
    """Multiplicity times <u_i, v_j>^2 between the eigenvectors of two halves, by level.

    Args:
        parts: the folds on each sector.
        levels: the order of the eigenvalues.
        bases: for each sector the eigenvectors of either half.
    """
    table = np.zeros((len(levels), len(levels)))
    for number, (part, (first, second)) in enumerate(zip(parts, bases, strict=True)):
        own = np.flatnonzero(levels.sector == number)
        ranks = levels.rank[own]
        squares = (first.T @ second) ** 2
        table[np.ix_(own, own)] = part.sector.multiplicity * squares[np.ix_(ranks, ranks)]
    return table


def half_bases(
    parts: list[SectorFolds], halves: tuple[np.ndarray, np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Eigenvectors of both halves on each sector."""
    return [
        (descending_eigh(part.mean(halves[0]))[1], descending_eigh(part.mean(halves[1]))[1])
        for part in parts
    ]


def block_sums(table: Float[np.ndarray, "v v"]) -> Float[np.ndarray, "v1 v1"]:
    """Prefix sums P with P[j, j] - P[i, j] - P[j, i] + P[i, i] the sum over the block i..j-1."""
    padded = np.zeros((len(table) + 1, len(table) + 1))
    padded[1:, 1:] = table.cumsum(0).cumsum(1)
    return padded


def group(parts: list[SectorFolds], levels: Levels) -> list[tuple[int, int]]:
    """The finest partition of the levels into bands expected to be certified: (first, last)."""
    tables = [overlap_matrix(parts, levels, half_bases(parts, h)) for h in GROUPING_HALVES]
    prefix = block_sums(np.mean(tables, axis=0))
    weight = np.concatenate([[0], levels.multiplicity.cumsum()])
    allowed = MARGIN * (1 - CERTIFIED) / GROUPING_LOSS
    diagonal = np.diag(prefix)
    cost = np.full(len(levels) + 1, np.inf)
    cost[0] = 0.0
    best = np.zeros(len(levels) + 1, dtype=int)
    for end in range(1, len(levels) + 1):
        start = np.arange(end)
        width = weight[end] - weight[:end]
        inside = diagonal[end] - prefix[:end, end] - prefix[end, :end] + diagonal[:end]
        good = 1 - inside / width <= allowed
        good &= (levels.null[:end] == levels.null[end - 1]) | (start == 0) & (end == len(levels))
        price = np.where(good, cost[:end] + width.astype(float) ** 2, np.inf)
        best[end] = int(np.argmin(price))
        cost[end] = price[best[end]]
    return _backtrack(best)


def _backtrack(best: Int[np.ndarray, " v1"]) -> list[tuple[int, int]]:
    bands, end = [], len(best) - 1
    while end > 0:
        bands.append((int(best[end]), end - 1))
        end = int(best[end])
    return bands[::-1]


def block_overlaps(
    table: Float[np.ndarray, "v v"], levels: Levels, groups: list[tuple[int, int]]
) -> Float[np.ndarray, " b"]:
    """The overlap of each band between two halves."""
    p = block_sums(table)
    weight = np.concatenate([[0], levels.multiplicity.cumsum()])
    i, j = np.array([first for first, _ in groups]), np.array([last + 1 for _, last in groups])
    return (p[j, j] - p[i, j] - p[j, i] + p[i, i]) / (weight[j] - weight[i])


def certify(
    overlaps: Float[np.ndarray, "h b"], levels: Levels, groups: list[tuple[int, int]], copies: int
) -> tuple[Band, ...]:
    """Bands over the D indices from their overlaps in each halving; `copies` is m."""
    weight = np.concatenate([[0], levels.multiplicity.cumsum()])
    mean = np.clip(overlaps.mean(axis=0), 0.0, 1.0)
    error = overlaps.std(axis=0, ddof=1) / np.sqrt(len(overlaps))
    chance = [_chance(levels, first, last) for first, last in groups]
    return tuple(
        Band(
            first=int(weight[first]) * copies,
            last=int(weight[last + 1]) * copies - 1,
            overlap=float(mean[i]),
            overlap_error=float(error[i]),
            certified=bool(
                chance[i] < WHOLE and mean[i] >= CERTIFIED + (1 - CERTIFIED) * chance[i]
            ),
            null=bool(levels.null[first] and levels.null[last]),
        )
        for i, (first, last) in enumerate(groups)
    )


def _chance(levels: Levels, first: int, last: int) -> float:
    """The overlap that unrelated bases of every sector would have on a band."""
    size = np.bincount(levels.sector)
    inside = np.bincount(levels.sector[first : last + 1], minlength=len(size))
    weight = np.bincount(levels.sector, weights=levels.multiplicity) / size  # of one level
    return float(np.sum(weight * inside**2 / size) / np.sum(weight * inside))
