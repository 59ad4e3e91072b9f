"""Reflections of an image as they act on the rows of a factor: exchanges with signs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from .structure import Compressed, Structure
from .subspaces import Frequencies

Basis = Any  # scipy.sparse.csr_matrix with orthonormal columns; scipy ships no types for it


@dataclass(frozen=True, eq=False)
class Reflection:
    """An orthogonal P with P^2 = 1 that exchanges rows and changes their signs.

    Attributes:
        rows: the row that each row becomes.
        signs: the sign of each row; None if all are one.
    """

    rows: Int[np.ndarray, " n"]
    signs: Float[np.ndarray, " n"] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def turned(self, matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
        """P A P^T."""
        turned = matrix[np.ix_(self.rows, self.rows)]
        return turned if self.signs is None else self.signs[:, None] * turned * self.signs

    def image(self, basis: Basis) -> Basis:
        """P B for the columns of a sparse B."""
        image = basis[self.rows]
        return image if self.signs is None else image.multiply(self.signs[:, None]).tocsr()

    @property
    def moves(self) -> bool:
        """Whether it changes anything."""
        kept = np.array_equal(self.rows, np.arange(len(self.rows)))
        return not kept or (self.signs is not None and bool((self.signs < 0).any()))


def reflections(structure: Structure, name: str) -> list[Reflection]:
    """The reflections of the factor's rows by `flip` (one for each axis) or `transpose`.

    A reflection that the shape does not allow (transposing a rectangle, flipping a vector without
    axes) gives none. Reflections keep only the subspace of low frequencies.
    """
    if isinstance(structure, Compressed):
        basis = structure.basis
        reflections = _of_cosines(basis, name) if isinstance(basis, Frequencies) else []
    else:
        reflections = _of_entries(structure, name)
    return [reflection for reflection in reflections if reflection.moves]


def _of_entries(structure: Structure, name: str) -> list[Reflection]:
    shape = structure.shape
    index = np.arange(structure.size).reshape(shape)
    axes = range(1, len(shape))
    if name == "flip":
        images = [np.flip(index, axis) for axis in axes]
    elif len(shape) == 3 and shape[1] == shape[2]:
        images = [index.transpose(0, 2, 1)]
    else:
        images = []
    row_of = np.empty(structure.size, dtype=int)
    row_of[structure.entries] = np.arange(structure.rows)[:, None]
    rows = [row_of[image.reshape(-1)[structure.entries[:, 0]]] for image in images]
    return [Reflection(own) for own in rows]


def _of_cosines(basis: Frequencies, name: str) -> list[Reflection]:
    shape = (basis.channels, *basis.kept)
    index = np.arange(basis.columns).reshape(shape)
    if name == "flip":
        orders = np.indices(shape)[1:]
        return [Reflection(index.flatten(), 1.0 - 2.0 * (own % 2).flatten()) for own in orders]
    if len(basis.sides) == 2 and basis.sides[0] == basis.sides[1]:
        return [Reflection(index.transpose(0, 2, 1).flatten())]
    return []
