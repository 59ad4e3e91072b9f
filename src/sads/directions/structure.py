"""How a small factor A (n x n) makes the whole geometry G (D x D), D = n m.

The output layer fixes most of G (propositions 1 to 3). In all cases there is an arrangement of
the D entries of a sample into n rows of m copies, such that

    G[(a, j), (b, k)] = A[a, b] if j = k else 0,

so G is A repeated m times and every eigenvalue of A has multiplicity m:

| kind        | n          | m             | when                                          |
|-------------|------------|---------------|-----------------------------------------------|
| `dense`     | D          | 1             | nothing is known about the output layer       |
| `channels`  | positions  | channels      | convolution (proposition 2)                   |
| `tokens`    | tokens     | entries/token | token-wise linear layer (proposition 3)       |
| `isotropic` | 1          | D             | dense linear layer (proposition 1)            |

Where n is too large, the factor is kept on a subspace of its rows with an orthonormal basis B
(`subspaces`): `Compressed` has the factor B^T A B and the copies of the structure it is in. It
describes the directions of B, each repeated by the copies, and says nothing about the others.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from .subspaces import Basis


@dataclass(frozen=True)
class Structure(ABC):
    """The arrangement of a sample's entries into rows and copies.

    Args:
        shape: shape of one sample.
        patch: side of a patch, or its side along each axis; only tokens have one.
    """

    kind: ClassVar[str]
    shape: tuple[int, ...]
    patch: int | tuple[int, ...] = 1

    @property
    def size(self) -> int:
        """D, the number of entries of one sample."""
        return math.prod(self.shape)

    @property
    def patches(self) -> tuple[int, ...]:
        """Side of a patch along each axis of the sample."""
        axes = max(1, len(self.shape) - 1)
        return (self.patch,) * axes if isinstance(self.patch, int) else self.patch

    @property
    def places(self) -> tuple[int, ...]:
        """Patches along each axis of the sample; positions where there are no patches."""
        sides = self.shape[1:] if len(self.shape) > 1 else self.shape
        return tuple(n // p for n, p in zip(sides, self.patches, strict=True))

    @property
    @abstractmethod
    def rows(self) -> int:
        """n, the size of the factor, computed without listing the entries."""

    @property
    @abstractmethod
    def grid(self) -> tuple[int, tuple[int, ...]]:
        """The rows as so many grids of so many places along each axis."""

    @property
    def imposed(self) -> "Structure":
        """The structure of the whole of G; this one, unless it is compressed."""
        return self

    @property
    def directions(self) -> int:
        """The number of directions that the factor and its copies describe; D for the whole."""
        return self.rows * self.copies

    @cached_property
    def entries(self) -> Int[np.ndarray, "n m"]:
        """Flat index into the sample of row a, copy j."""
        return self._arranged(np.arange(self.size))

    @abstractmethod
    def _arranged(self, index: Int[np.ndarray, " D"]) -> Int[np.ndarray, "n m"]: ...

    @property
    def copies(self) -> int:
        """m, the multiplicity of every eigenvalue of the factor."""
        return self.size // self.rows

    def parts(self, vectors: Float[np.ndarray, "*batch D"]) -> Float[np.ndarray, "*batch m n"]:
        """The coordinates of samples on the rows of the factor, copy by copy."""
        return vectors[..., self.entries.T]

    def assembled(self, parts: Float[np.ndarray, "*batch m n"]) -> Float[np.ndarray, "*batch D"]:
        """Samples from their coordinates."""
        result = np.empty((*parts.shape[:-2], self.size), dtype=parts.dtype)
        result[..., self.entries.T] = parts
        return result

    def vector(self, row: Float[np.ndarray, " n"], copy: int) -> Float[np.ndarray, " D"]:
        """The direction of one copy that has the given coordinates on the rows."""
        whole = np.zeros(self.size)
        whole[self.entries[:, copy]] = row
        return whole

    def apply(
        self, factor: Float[np.ndarray, "n n"], vectors: Float[np.ndarray, "*batch D"]
    ) -> Float[np.ndarray, "*batch D"]:
        """G v for each v, without forming G."""
        # One product for all vectors and copies: the factor is read once, not once per vector.
        parts = self.parts(vectors)
        return self.assembled((parts.reshape(-1, self.rows) @ factor.T).reshape(parts.shape))

    def expand(self, factor: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "D D"]:
        """The whole matrix G."""
        whole = np.zeros((self.size, self.size))
        for copy in self.entries.T:
            whole[np.ix_(copy, copy)] = factor
        return whole

    def embed(self, vectors: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "D km"]:
        """Columns of G's eigenbasis from columns of A's, each m times, copy by copy."""
        count = vectors.shape[1]
        whole = np.zeros((self.size, count, self.copies))
        for j, copy in enumerate(self.entries.T):
            whole[copy, :, j] = vectors
        return whole.reshape(self.size, count * self.copies)

    def compressed(self, basis: Basis) -> "Compressed":
        """The same structure with its factor on a subspace of the rows."""
        return Compressed(self.shape, self.patch, inner=self, basis=basis)


class Dense(Structure):
    """Every entry is a row of its own."""

    kind = "dense"

    @property
    def rows(self) -> int:
        return self.size

    @property
    def grid(self) -> tuple[int, tuple[int, ...]]:
        return (self.shape[0], self.shape[1:]) if len(self.shape) > 1 else (1, self.shape)

    def _arranged(self, index: Int[np.ndarray, " D"]) -> Int[np.ndarray, "n m"]:
        return index[:, None]


class Isotropic(Structure):
    """All entries are copies of one row."""

    kind = "isotropic"

    @property
    def rows(self) -> int:
        return 1

    @property
    def grid(self) -> tuple[int, tuple[int, ...]]:
        return 1, (1,)

    def _arranged(self, index: Int[np.ndarray, " D"]) -> Int[np.ndarray, "n m"]:
        return index[None, :]


class Channels(Structure):
    """Positions are rows, channels their copies."""

    kind = "channels"

    @property
    def rows(self) -> int:
        return self.size // self.shape[0]

    @property
    def grid(self) -> tuple[int, tuple[int, ...]]:
        return 1, self.shape[1:] or (1,)

    def _arranged(self, index: Int[np.ndarray, " D"]) -> Int[np.ndarray, "n m"]:
        return index.reshape(self.shape[0], -1).T


class Tokens(Structure):
    """Patches are rows, the entries of a patch their copies."""

    kind = "tokens"

    @property
    def rows(self) -> int:
        return math.prod(self.places)

    @property
    def grid(self) -> tuple[int, tuple[int, ...]]:
        return 1, self.places

    def _arranged(self, index: Int[np.ndarray, " D"]) -> Int[np.ndarray, "n m"]:
        channels = self.shape[0] if len(self.shape) > 1 else 1
        pairs = zip(self.places, self.patches, strict=True)
        grid, axes = index.reshape(channels, *(k for pair in pairs for k in pair)), len(self.places)
        outer, inner = range(1, 2 * axes, 2), range(2, 2 * axes + 1, 2)
        return grid.transpose(*outer, *inner, 0).reshape(self.rows, -1)


@dataclass(frozen=True, kw_only=True)
class Compressed(Structure):
    """A structure whose factor is kept on a subspace of its rows.

    Attributes:
        inner: the structure of the whole.
        basis: the basis of the subspace.
    """

    kind = "compressed"
    inner: Structure
    basis: Basis

    @property
    def rows(self) -> int:
        return self.basis.columns

    @property
    def grid(self) -> tuple[int, tuple[int, ...]]:
        return 1, (self.rows,)

    @property
    def imposed(self) -> Structure:
        return self.inner

    @property
    def copies(self) -> int:
        return self.inner.copies

    def _arranged(self, index: Int[np.ndarray, " D"]) -> Int[np.ndarray, "n m"]:
        raise TypeError("the rows of a subspace are not entries of a sample")

    def parts(self, vectors: Float[np.ndarray, "*batch D"]) -> Float[np.ndarray, "*batch m n"]:
        return self.basis.coordinates(self.inner.parts(vectors))

    def assembled(self, parts: Float[np.ndarray, "*batch m n"]) -> Float[np.ndarray, "*batch D"]:
        return self.inner.assembled(self.basis.lift(parts))

    def vector(self, row: Float[np.ndarray, " n"], copy: int) -> Float[np.ndarray, " D"]:
        return self.inner.vector(self.basis.lift(row), copy)

    def expand(self, factor: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "D D"]:
        return self.inner.expand(self.basis.lift(self.basis.lift(factor).T))

    def embed(self, vectors: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "D km"]:
        return self.inner.embed(self.basis.lift(vectors.T).T)


#: Every structure by its name in plans and results.
STRUCTURES: dict[str, type[Structure]] = {
    structure.kind: structure for structure in (Dense, Channels, Tokens, Isotropic)
}
