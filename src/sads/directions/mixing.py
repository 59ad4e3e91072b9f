"""How far an estimated eigenvector is spread over the true ones of its sector.

Energies e_ij = <u_i, v_j>^2 of an estimated eigenvector in the true ones v_j fall off as

    e_ij = V_ij / ((mu_i - mu_j)^2 + w_i^2),      V_ij = Var(u_i^T G u_j),      sum_j e_ij = 1.

Far from i this is first-order perturbation theory. Near i the width w_i, which makes the energies
sum to one, keeps the formula valid where the noise is as large as the gaps: for large random
matrices the profile of an eigenvector is this one exactly (Ledoit and Peche; Bun, Bouchaud and
Potters). V is the scatter of the folds, so e is about the estimate from all networks against the
truth; two halves of the networks differ from each other by four times as much.

Noise makes the eigenvalues of the estimate lie too far apart, and would make degenerate ones look
separate. So mu_i is what networks show that were not used for the eigenvectors, u_i^T A' u_i
(`SectorFolds.cross_fitted`), which is equal within a degenerate group. Likewise eigenvectors
of small eigenvalue have fitted the noise away: others show mu_i instead of lambda_i along them, and
V_ij, which grows with both eigenvalues, is raised by max(1, mu/lambda) for i and for j.

*Upper limits.* A sum of energies is a sum of squared normals times V_ij, each V_ij known with
nu = `FOLDS` - 1 degrees of freedom. So its 95 % limit is its mean times the quantile of
F(m, nu m), where m = (sum e)^2 / sum e^2 is the effective number of energies.

*Window.* The smallest r such that the energy outside levels k - r to k + r of the sector is below
5 % by that limit. The limit is not valid if the networks have not yet shown all directions.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import isotonic_regression
from scipy.stats import f as fisher

from .folds import FOLDS, SectorFolds

ALLOWED = 0.05  # energy outside a window, or a band
CONFIDENCE = 0.95
CHUNK = 512  # rows at a time
STEPS = 60
_COUNTED = np.geomspace(1, 1e5, 200)


@dataclass(frozen=True)
class Mixing:
    """The energies of a sector's eigenvectors, outside its null space.

    Attributes:
        energies: e_ij of estimated level i in true level j.
        seen: whether the networks have seen every direction of the sector.
    """

    energies: Float[np.ndarray, "s s"]
    seen: bool = True

    @classmethod
    def of(cls, part: SectorFolds, live: int, *, seen: bool) -> "Mixing":
        """The energies of the first `live` levels, which are those that are not zero."""
        others, raised = part.cross_fitted[1][:live], part.raised[:live]
        positions = isotonic_regression(others, increasing=False).x if live else others
        variance = part.scatter[0][:live, :live] * raised[:, None] * raised
        np.fill_diagonal(variance, (part.errors[:live] * raised) ** 2)
        for start in range(0, live, CHUNK):
            rows = slice(start, start + CHUNK)
            variance[rows] = _profile(variance[rows], positions, np.arange(live)[rows])
        return cls(variance, seen)

    @cached_property
    def windows(self) -> Int[np.ndarray, " s"]:
        """The window of every level."""
        size = len(self.energies)
        if not self.seen:
            return np.full(size, size - 1)
        place = np.arange(size)
        windows = np.empty(size, dtype=int)
        for start in range(0, size, CHUNK):
            rows = place[start : start + CHUNK]
            energies = self.energies[rows]
            limits = upper_limit(_outside(energies, rows), _outside(energies**2, rows))
            windows[rows] = np.argmax(limits <= ALLOWED, axis=1)
        return windows


def _profile(
    variance: Float[np.ndarray, "c s"],
    positions: Float[np.ndarray, " s"],
    rows: Int[np.ndarray, " c"],
) -> Float[np.ndarray, "c s"]:
    """Energies from variances and positions, for some of the rows."""
    gaps = (positions[rows, None] - positions) ** 2
    # Newton's method for 1 / sum_j V_ij / (gap^2 + w^2) = 1, which is concave in w^2: it rises.
    square = np.maximum(variance[np.arange(len(rows)), rows], np.finfo(float).tiny)
    for _ in range(STEPS):
        terms = variance / (gaps + square[:, None])
        total = terms.sum(axis=1)
        slope = np.einsum("ij,ij->i", terms, 1 / (gaps + square[:, None]))
        step = np.where(total > 1, total * (total - 1) / np.maximum(slope, 1e-300), 0.0)
        square = square + step
        if np.all(step <= 1e-3 * square):
            break
    return variance / (gaps + square[:, None])


def _outside(
    table: Float[np.ndarray, "c s"], rows: Int[np.ndarray, " c"]
) -> Float[np.ndarray, "c s"]:
    """The sum of each row outside columns i - r to i + r, for every r; i is the row's place."""
    size = table.shape[1]
    sums = np.zeros((len(rows), size + 1))
    sums[:, 1:] = table.cumsum(axis=1)
    reach = np.arange(size)
    first = np.maximum(rows[:, None] - reach, 0)
    end = np.minimum(rows[:, None] + reach + 1, size)
    inside = np.take_along_axis(sums, end, axis=1) - np.take_along_axis(sums, first, axis=1)
    rest = sums[:, -1:] - inside
    return np.where(rest > 1e-12, rest, 0.0)  # smaller sums are rounding


def upper_limit(
    energy: Float[np.ndarray, "*any"],
    squares: Float[np.ndarray, "*any"],
    confidence: float = CONFIDENCE,
) -> Float[np.ndarray, "*any"]:
    """The upper limit of a sum of energies, from the sum and the sum of squares."""
    counted = np.maximum(energy**2 / np.maximum(squares, 1e-300), 1.0)
    return energy * np.interp(np.log(counted), np.log(_COUNTED), _raised(confidence))


@cache
def _raised(confidence: float) -> Float[np.ndarray, " n"]:
    """How much larger than its mean a sum of as many energies as in `_COUNTED` may be."""
    return fisher.ppf(confidence, _COUNTED, (FOLDS - 1) * _COUNTED)
