"""Exact symmetries of a geometry, and the sectors they split it into.

If an architecture and its probe are unchanged in distribution by a reflection P of the image,
then P G P^T = G. Averaging an estimate over the group removes noise, and the eigenvectors fall
into *sectors*: those that P keeps and those that P negates. Directions of different sectors
cannot mix, however close their eigenvalues are.

For the square's full symmetry (flips and transpose) the sectors that are even in one axis and odd
in the other are images of each other: their eigenvalues come in exact pairs.

A symmetry is used only if the architecture declares it, and the data can veto it. The blocks of
independent estimates F_k between even and odd vectors break it. Under the symmetry the distribution
of these blocks does not change when any of them is negated. So the squared norm of their sum,
whitened by the symmetric part of the estimate, is compared with its values under all sign patterns.
A true symmetry is rejected with probability below `VETO_LEVEL`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse

from ..execution.threads import side_by_side
from ..statistics.sign_flips import sign_patterns
from .reflections import Basis, Reflection, reflections
from .structure import Structure

Folds = Iterable[np.ndarray]  # independent estimates of the factor, each n x n

VETO_LEVEL = 0.001
LARGE = 512  # rows from which decompositions are made side by side
NULL = 1e-12  # eigenvalues below this fraction of the largest belong to the null space


@dataclass(frozen=True)
class Sector:
    """An invariant subspace of the factor.

    Attributes:
        images: orthonormal bases (n, size), one for each copy of the sector; G acts equally on all.
    """

    images: tuple[Basis, ...]

    @property
    def size(self) -> int:
        return self.images[0].shape[1]

    @property
    def multiplicity(self) -> int:
        return len(self.images)

    def restrict(self, matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "s s"]:
        """The factor on this sector, averaged over the images, exactly symmetric."""
        if self.size == len(matrix):  # the whole space, with the identity as its basis
            return (matrix + matrix.T) / 2
        blocks = [basis.T @ (basis.T @ matrix.T).T for basis in self.images]
        mean = np.asarray(sum(blocks)) / len(blocks)
        return (mean + mean.T) / 2


def sectors(structure: Structure, names: tuple[str, ...]) -> list[Sector]:
    """Split the factor's rows into the sectors of the named symmetries."""
    flips = reflections(structure, "flip") if "flip" in names else []
    transposes = reflections(structure, "transpose") if "transpose" in names else []
    bases: list[Basis] = [sparse.identity(structure.rows, format="csr")]
    for flip in flips:
        bases = [half for basis in bases for half in _split(basis, flip) if half.shape[1]]
    if not transposes:
        return [Sector((basis,)) for basis in bases]
    parts: list[Sector] = []
    for basis in bases:
        image = transposes[0].image(basis)
        # Transposing maps a sector to itself or to another one; one of each pair is kept.
        if abs(basis.T @ image).sum() > 0:
            parts += [Sector((half,)) for half in _split(basis, transposes[0]) if half.shape[1]]
        elif not any(abs(s.images[-1].T @ basis).sum() > 0 for s in parts):
            parts.append(Sector((basis, image)))
    return parts


def _split(basis: Basis, reflection: Reflection) -> list[Basis]:
    """The even and the odd part of a subspace that the reflection maps to itself."""
    action: Any = sparse.coo_matrix(
        basis.T @ reflection.image(basis)
    )  # a signed permutation, an involution
    target = np.empty(basis.shape[1], dtype=int)
    sign = np.empty(basis.shape[1])
    target[action.col] = action.row
    sign[action.col] = np.sign(action.data)
    own = np.arange(basis.shape[1])
    halves = []
    for parity in (1.0, -1.0):
        fixed = own[(target == own) & (sign == parity)]
        pairs = own[target > own]
        columns = basis[:, pairs] + parity * (
            basis[:, target[pairs]] @ sparse.diags(sign[pairs], shape=(len(pairs),) * 2)
        )
        halves.append(sparse.hstack([basis[:, fixed], columns / np.sqrt(2)], format="csr"))
    return halves


def average(
    matrix: Float[np.ndarray, "n n"], structure: Structure, names: tuple[str, ...]
) -> Float[np.ndarray, "n n"]:
    """The mean of P A P^T over the group that the named symmetries generate."""
    for name in ("flip", "transpose"):
        if name in names:
            for r in reflections(structure, name):
                matrix = (matrix + r.turned(matrix)) / 2
    return matrix


def surviving(folds: Folds, structure: Structure, names: tuple[str, ...]) -> tuple[str, ...]:
    """The declared symmetries that independent estimates do not contradict."""
    return tuple(
        name
        for name in names
        if all(symmetry_p_value(folds, r) >= VETO_LEVEL for r in reflections(structure, name))
    )


def symmetry_p_value(folds: Folds, reflection: Reflection) -> float:
    """Exact p-value of the sign-flip test that P F P^T and F have one distribution.

    Args:
        folds: independent estimates F_k; they are read once, one after the other.
        reflection: P on the rows of the factor.
    """
    even, odd = _split(sparse.identity(len(reflection), format="csr"), reflection)
    within, between = [np.zeros((half.shape[1],) * 2) for half in (even, odd)], []
    for fold in folds:
        rows = even.T @ fold, odd.T @ fold
        within[0] += (even.T @ rows[0].T).T
        within[1] += (odd.T @ rows[1].T).T
        between.append((odd.T @ rows[0].T).T)
    means = [block / len(between) for block in within]
    at_once = side_by_side if len(reflection) >= LARGE else map
    first, second = at_once(_whitener, means)
    for k, block in enumerate(between):  # in place of what it is made from
        between[k] = (first.T @ block @ second).reshape(-1)
    gram = np.array([[a @ b for b in between] for a in between])
    signs = sign_patterns(len(between))
    norms = np.einsum("sj,jk,sk->s", signs, gram, signs)
    return float(np.mean(norms >= gram.sum() - 1e-9 * np.trace(gram)))


def _whitener(matrix: Float[np.ndarray, "s s"]) -> Float[np.ndarray, "s r"]:
    """Columns W with W^T A W = I on the numerical range of A."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    kept = values > NULL * max(float(values[-1]), 0.0)
    return vectors[:, kept] / np.sqrt(values[kept])
