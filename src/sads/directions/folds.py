"""Independent estimates of one symmetric matrix, and what they say about its error.

The networks of an estimate are dealt into `FOLDS` folds. Each fold F_k is an independent estimate
of the same factor; their mean, weighted by networks, is the estimate, with eigenvectors u_i.

*Scatter.* Var(u_i^T G u_j) of the mean is estimated by the spread of u_i^T F_k u_j over the folds,
with `FOLDS` - 1 degrees of freedom.

*Cross-fitting.* Eigenvectors fit the noise of the networks they come from, so other networks show
how good they are: eigenvectors of two thirds of the folds, quadratic forms of the other third.

*Cost.* The scatter takes two products a fold. The first, F_k u_j, is in float64, so u_i^T F_k u_i
is. The second is in float32, relative to lambda_1: it is only squared and averaged, and what
float32 rounds off is about 1e-7 sqrt(lambda_1 / lambda_i) of it, a tenth at the edge of the
numerical range.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from jaxtyping import Float, Int

from ..execution.threads import side_by_side
from .symmetry import LARGE, Folds, Sector

FOLDS = 12
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

    @property
    def pooled(self) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s s"]]:
        """Eigenvalues, descending, and eigenvectors of the estimate from all folds."""
        return self._decomposed[0]

    @cached_property
    def _decomposed(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """`pooled`, and of each third A': u^T A u and u^T A' u."""
        tasks: list[Callable[[], tuple[np.ndarray, np.ndarray]]] = [
            lambda: descending_eigh(self.mean(np.arange(len(self.blocks)))),
            *(partial(self._crossed, third) for third in THIRDS),
        ]
        if self.sector.size < LARGE:
            return [task() for task in tasks]
        return side_by_side(lambda task: task(), tasks)

    def _crossed(
        self, third: Int[np.ndarray, " k"]
    ) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]:
        values, vectors = descending_eigh(self.mean(np.setdiff1d(np.arange(FOLDS), third)))
        return values, np.einsum("ij,ij->j", vectors, self.mean(third) @ vectors)

    @cached_property
    def scatter(self) -> tuple[Float[np.ndarray, "s s"], Float[np.ndarray, "K s"]]:
        """Var(u_i^T G u_j) of the mean for i != j, and u_i^T F_k u_i for every fold."""
        values, vectors = self.pooled
        coarse, unit = vectors.astype(np.float32), max(float(values[0]), np.finfo(float).tiny)
        weights = self.counts / self.counts.sum()
        variance = np.zeros_like(vectors)
        forms = np.empty(self.blocks.shape[:2])
        for k, fold in enumerate(self.blocks):
            turned = fold @ vectors
            forms[k] = np.einsum("ij,ij->j", vectors, turned)
            deviation = (coarse.T @ (turned / unit).astype(np.float32)).astype(float)
            deviation *= deviation  # their mean over the folds is diagonal
            variance += weights[k] / (len(weights) - 1) * deviation
        variance *= unit**2
        return variance, forms

    @cached_property
    def errors(self) -> Float[np.ndarray, " s"]:
        """Standard errors of the eigenvalues."""
        forms = self.scatter[1]
        return forms.std(axis=0, ddof=1) / np.sqrt(len(forms))

    @cached_property
    def cross_fitted(self) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]:
        """u^T A u and u^T A' u, u the eigenvectors of all folds but a third A', A their mean.

        Means over the three thirds.
        """
        own, others = np.zeros((2, self.sector.size))
        for values, forms in self._decomposed[1:]:
            own += values / len(THIRDS)
            others += forms / len(THIRDS)
        return own, others

    @cached_property
    def raised(self) -> Float[np.ndarray, " s"]:
        """How much more other networks show along an eigenvector than its own; at least one."""
        own, others = self.pooled[0], self.cross_fitted[1]
        return np.maximum(1.0, others / np.where(own > 0, own, np.inf))


def descending_eigh(
    matrix: Float[np.ndarray, "s s"],
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s s"]]:
    """Eigenvalues in the paper's descending order, eigenvectors as columns."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1].copy(), vectors[:, ::-1].copy()


def restrict_folds(
    folds: Folds, counts: Int[np.ndarray, " K"], parts: list[Sector]
) -> list[SectorFolds]:
    """The folds on each sector; each is read once."""
    blocks = [np.empty((len(counts), part.size, part.size)) for part in parts]
    for k, fold in enumerate(folds):
        for part, own in zip(parts, blocks, strict=True):
            own[k] = part.restrict(fold)
    return [SectorFolds(part, own, counts) for part, own in zip(parts, blocks, strict=True)]
