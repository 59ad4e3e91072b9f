"""The subspace in which a geometry is estimated if its whole factor is too large.

| value            | spelled      | the subspace of the factor's rows                              |
|------------------|--------------|----------------------------------------------------------------|
| `Whole`          | `full`       | all of it                                                      |
| `LowFrequencies` | `dct:K`      | the K lowest frequencies of every axis (K x K of an image)     |
| `Adaptive`       | `adaptive:M` | M directions in which a sketch from some networks is largest   |

*Adaptive.* With Omega a Gaussian matrix of M + `OVERSAMPLING` columns, the sketch Y = A Omega is
summed over some networks; its Nystroem approximation

    A ~ Y (Omega^T Y)^+ Y^T

has nearly the leading eigenvectors of A (Halko, Martinsson and Tropp), and its own first M are the
basis. Errors come from other networks, so that no statement about B^T A B depends on the quality of
the basis; only the share of tr A inside it does.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from ..directions.structure import Structure
from ..directions.subspaces import Basis, Frequencies, Span
from ..errors import InputError

OVERSAMPLING = 10  # columns of a sketch beyond those that are kept
FEWEST_IN_A_SKETCH = 12  # networks, even if one shows more directions than are kept
SEEN = 2  # directions that a sketch should show for each one that is kept
NEGLIGIBLE = 1e-12  # share of the largest eigenvalue of a sketch below which all is rounding
SKETCH_BYTES = 48  # for each entry of a sketch: itself, Omega, that of a batch, the basis


@dataclass(frozen=True)
class Subspace(ABC):
    """A subspace that can be asked for."""

    kind: str = field(default="", kw_only=True)

    @abstractmethod
    def basis(self, structure: Structure) -> Basis:
        """Its basis, for the factor of a structure.

        Raises:
            InputError: if it is larger than the space.
        """

    @abstractmethod
    def columns(self, structure: Structure) -> int:
        """The number of directions of the factor that it keeps."""

    def memory(self, structure: Structure) -> int:
        """Bytes that the basis and its computation take."""
        return 0

    @property
    @abstractmethod
    def spelled(self) -> str:
        """Its name in the grammar."""


@dataclass(frozen=True)
class Whole:
    """No subspace: the whole space, even if it does not fit in memory."""

    spelled: str = field(default="full", init=False)


@dataclass(frozen=True)
class LowFrequencies(Subspace):
    """The lowest frequencies of every axis.

    Attributes:
        count: K, the number of frequencies of each axis.
    """

    kind: Literal["dct"] = field(default="dct", kw_only=True)
    count: int

    def basis(self, structure: Structure) -> Basis:
        channels, sides = structure.grid
        if not 1 <= self.count <= min(sides):
            raise InputError(
                f"{self.spelled} is larger than the space: the factor's rows are a grid of "
                f"{'x'.join(map(str, sides))}, choose dct:1 to dct:{min(sides)}"
            )
        return Frequencies(sides, (self.count,) * len(sides), channels)

    def columns(self, structure: Structure) -> int:
        return self.basis(structure).columns

    @property
    def spelled(self) -> str:
        return f"dct:{self.count}"


@dataclass(frozen=True)
class Adaptive(Subspace):
    """The directions in which a sketch from some networks is largest.

    Attributes:
        count: M, the number of directions.
        sketch: the number of networks of the sketch; None for as many as are needed.
        borrowed: digest of a basis from another geometry; empty if a sketch finds it.
        digest: digest of the basis; empty until it is found.
        span: the basis itself, which is stored beside the plan.
    """

    kind: Literal["adaptive"] = field(default="adaptive", kw_only=True)
    count: int
    sketch: int | None = None
    borrowed: str = ""
    digest: str = field(default="", compare=False)
    span: Annotated[Span | None, Field(exclude=True)] = field(
        default=None, compare=False, repr=False
    )

    def basis(self, structure: Structure) -> Basis:
        """The basis that was found; until then about as many of the lowest frequencies."""
        self.columns(structure)
        if self.span is not None:
            return self.span
        channels, sides = structure.grid
        most = max(1, math.floor((self.count / channels) ** (1 / len(sides)) + 1e-9))
        return Frequencies(sides, tuple(min(side, most) for side in sides), channels)

    def of_another(self) -> "Adaptive":
        """The same subspace for another geometry, which needs no sketch."""
        return replace(self, borrowed=self.digest)

    def columns(self, structure: Structure) -> int:
        if self.span is not None and self.span.rows != structure.rows:
            raise InputError(
                f"the subspace is one of {self.span.rows:,} rows, the factor has "
                f"{structure.rows:,}: it belongs to another shape or last layer"
            )
        if not 1 <= self.count <= structure.rows:
            raise InputError(
                f"{self.spelled} is larger than the space: the factor has {structure.rows:,} rows, "
                f"choose adaptive:1 to adaptive:{structure.rows}"
            )
        return self.count

    def memory(self, structure: Structure) -> int:
        return SKETCH_BYTES * structure.rows * sketch_columns(self.count, structure.rows)

    def networks(self, structure: Structure, rank: int) -> int:
        """The number of networks of the sketch, each of which shows `rank` directions.

        Raises:
            InputError: if the given number cannot show as many directions as are kept.
        """
        if self.sketch is None:
            wanted = min(SEEN * self.count, structure.rows)
            return max(FEWEST_IN_A_SKETCH, math.ceil(wanted / rank))
        if self.sketch * rank < self.count:
            needed = math.ceil(self.count / rank)
            raise InputError(
                f"a sketch of {self.sketch} networks shows at most {self.sketch * rank:,} "
                f"directions, adaptive:{self.count} keeps more: take at least {needed:,} networks "
                "for the sketch, or keep fewer directions"
            )
        return self.sketch

    @property
    def spelled(self) -> str:
        asked = "" if self.sketch is None else f",sketch={self.sketch}"
        return f"adaptive:{self.count}{asked}"


AnySubspace = LowFrequencies | Adaptive


def sketch_columns(count: int, rows: int) -> int:
    """The number of columns of a sketch from which `count` directions are chosen."""
    return min(count + OVERSAMPLING, rows)


def leading_span(
    sketch: Float[np.ndarray, "n s"], omega: Float[np.ndarray, "n s"], count: int
) -> Span:
    """The first `count` eigenvectors of the Nystroem approximation of A from Y = A Omega."""
    core = omega.T @ sketch
    values, vectors = np.linalg.eigh((core + core.T) / 2)
    kept = values > NEGLIGIBLE * max(float(values[-1]), 0.0)
    if not kept.any():
        raise InputError("the sketch is zero: the networks output nothing at the probe")
    root = sketch @ (vectors[:, kept] / np.sqrt(values[kept]))
    left, strength, _ = np.linalg.svd(root, full_matrices=False)
    left = left[:, strength > math.sqrt(NEGLIGIBLE) * strength[0]][:, :count]
    # Directions that the networks do not reach are filled up at random.
    missing = omega[:, : count - left.shape[1]]
    if missing.shape[1]:
        missing = missing - left @ (left.T @ missing)
        left = np.hstack([left, np.linalg.qr(missing)[0]])
    return Span.of(np.linalg.qr(left)[0])
