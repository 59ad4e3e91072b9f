"""Orthonormal bases of subspaces of a factor's rows, for factors that are too large as a whole.

A basis B has n rows and m columns. It reduces a factor A to B^T A B, and a sample x has the
coordinates B^T x. Neither needs n x n numbers:

| basis         | columns                                  | memory  | coordinates           |
|---------------|------------------------------------------|---------|-----------------------|
| `Frequencies` | the lowest cosines along every axis      | K sides | an axis at a time     |
| `Span`        | orthonormal columns that were found      | n m     | one product           |

The cosines are those of the DCT of type 2, cos(pi (i + 1/2) k / N). Flipping an axis multiplies
them by (-1)^k and transposing a square exchanges them, so that the symmetries of an architecture
act on them by signs and exchanges (`reflections`).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.fft import dct

from ..storage.files import checksum

INSIDE = 1e-6  # the part of a unit vector that float32 may put outside its subspace


@dataclass(frozen=True)
class Basis(ABC):
    """Orthonormal columns in the space of a factor's rows."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """n, the number of rows."""

    @property
    @abstractmethod
    def columns(self) -> int:
        """m, the number of columns."""

    @abstractmethod
    def coordinates(self, vectors: Float[np.ndarray, "*batch n"]) -> Float[np.ndarray, "*batch m"]:
        """B^T v of each v."""

    @abstractmethod
    def lift(self, coordinates: Float[np.ndarray, "*batch m"]) -> Float[np.ndarray, "*batch n"]:
        """B c of each c."""

    def compress(self, matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "m m"]:
        """B^T A B of a symmetric A."""
        return self.coordinates(self.coordinates(matrix).T)

    @cached_property
    def ones(self) -> Float[np.ndarray, " m"]:
        """B^T 1, the coordinates of the constant."""
        return self.coordinates(np.ones(self.rows))

    def inside(self, other: "Basis") -> Float[np.ndarray, "k m"] | None:
        """The columns of this basis in the coordinates of another; None if they stick out of it."""
        if self == other:
            return np.eye(self.columns)
        if self.rows != other.rows or self.columns > other.columns:
            return None
        own = other.coordinates(self.lift(np.eye(self.columns))).T
        return own if np.allclose(np.square(own).sum(axis=0), 1.0, atol=INSIDE) else None


@dataclass(frozen=True)
class Frequencies(Basis):
    """The lowest cosines of every axis, of every channel.

    Attributes:
        sides: the sides of the grid that the rows form.
        kept: the number of frequencies kept along each axis.
        channels: the number of such grids, one after another.
    """

    sides: tuple[int, ...]
    kept: tuple[int, ...]
    channels: int = 1

    @property
    def rows(self) -> int:
        return self.channels * math.prod(self.sides)

    @property
    def columns(self) -> int:
        return self.channels * math.prod(self.kept)

    @cached_property
    def axes(self) -> tuple[Float[np.ndarray, "k side"], ...]:
        """The cosines along each axis, as rows."""
        whole = (np.asarray(dct(np.eye(side), axis=0, norm="ortho")) for side in self.sides)
        return tuple(own[:kept] for own, kept in zip(whole, self.kept, strict=True))

    def coordinates(self, vectors: Float[np.ndarray, "*batch n"]) -> Float[np.ndarray, "*batch m"]:
        grid = vectors.reshape(-1, *self.sides)
        for axis, own in enumerate(self.axes, start=1):
            grid = np.moveaxis(np.moveaxis(grid, axis, -1) @ own.T, -1, axis)
        return np.ascontiguousarray(grid).reshape(*vectors.shape[:-1], self.columns)

    def lift(self, coordinates: Float[np.ndarray, "*batch m"]) -> Float[np.ndarray, "*batch n"]:
        grid = coordinates.reshape(-1, *self.kept)
        for axis, own in enumerate(self.axes, start=1):
            grid = np.moveaxis(np.moveaxis(grid, axis, -1) @ own, -1, axis)
        return np.ascontiguousarray(grid).reshape(*coordinates.shape[:-1], self.rows)


@dataclass(frozen=True)
class Span(Basis):
    """Orthonormal columns from a sketch; two spans are the same if their digests are.

    Attributes:
        matrix: the columns.
        digest: the digest of their values.
    """

    matrix: Float[np.ndarray, "n m"] = field(compare=False, repr=False)
    digest: str = ""

    @classmethod
    def of(cls, matrix: Float[np.ndarray, "n m"]) -> "Span":
        """The span of orthonormal columns, with its digest."""
        own = np.ascontiguousarray(matrix)
        return cls(own, checksum({"basis": own}))

    @property
    def rows(self) -> int:
        return len(self.matrix)

    @property
    def columns(self) -> int:
        return self.matrix.shape[1]

    def coordinates(self, vectors: Float[np.ndarray, "*batch n"]) -> Float[np.ndarray, "*batch m"]:
        return vectors @ self.matrix

    def lift(self, coordinates: Float[np.ndarray, "*batch m"]) -> Float[np.ndarray, "*batch n"]:
        return coordinates @ self.matrix.T
