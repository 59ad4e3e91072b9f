"""Independent estimates of one symmetric matrix, and what they say about its error.

The networks of an estimate are dealt into `FOLDS` folds. Each fold F_k is an independent estimate
of the same factor; their mean is the estimate. Folds play two roles that must not mix: the first
`GROUPING` choose the bands, the others certify them.

The certifying folds are halved along the rows of a Hadamard matrix. The contrasts of the halves
are mutually orthogonal, so the seven distances between halves are independent measurements.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import hadamard

from .symmetry import Sector

FOLDS = 12
GROUPING = 4
CERTIFYING = FOLDS - GROUPING


def balanced_halves(folds: Int[np.ndarray, " k"]) -> list[tuple[np.ndarray, np.ndarray]]:
    """All orthogonal splits of k folds (k a power of two) into two halves: k - 1 of them."""
    return [(folds[row > 0], folds[row < 0]) for row in hadamard(len(folds))[1:]]


GROUPING_HALVES = balanced_halves(np.arange(GROUPING))
CERTIFYING_HALVES = balanced_halves(np.arange(GROUPING, FOLDS))
EVERY_OTHER = (np.arange(0, FOLDS, 2), np.arange(1, FOLDS, 2))
THIRDS = [np.arange(start, FOLDS, 3) for start in range(3)]


@dataclass(frozen=True)
class SectorFolds:
    """The folds of the factor restricted to one sector.

    Attributes:
        sector: the invariant subspace.
        blocks: fold means on it, shape (FOLDS, s, s).
        counts: networks in each fold.
    """

    sector: Sector
    blocks: Float[np.ndarray, "K s s"]
    counts: Int[np.ndarray, " K"]

    def mean(self, which: Int[np.ndarray, " k"]) -> Float[np.ndarray, "s s"]:
        """The estimate from some of the folds."""
        weights = self.counts[which] / self.counts[which].sum()
        return np.tensordot(weights, self.blocks[which], axes=1)

    @cached_property
    def pooled(self) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s s"]]:
        """Eigenvalues, descending, and eigenvectors of the estimate from all folds."""
        return descending_eigh(self.mean(np.arange(len(self.blocks))))


def descending_eigh(
    matrix: Float[np.ndarray, "s s"],
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s s"]]:
    """Eigenvalues in the paper's descending order, eigenvectors as columns."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1].copy(), vectors[:, ::-1].copy()


def restrict_folds(
    folds: Float[np.ndarray, "K n n"], counts: Int[np.ndarray, " K"], parts: list[Sector]
) -> list[SectorFolds]:
    """The folds on each sector."""
    return [
        SectorFolds(part, np.stack([part.restrict(fold) for fold in folds]), counts)
        for part in parts
    ]
