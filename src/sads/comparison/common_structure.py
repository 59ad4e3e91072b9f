"""What two geometries have in common: the finest structure and the symmetries of both.

Equal structures are compared by their factors. A multiple of the identity has every structure and
symmetry, so an isotropic geometry takes the other's. Other pairs are written out as D x D matrices.

Geometries in subspaces are compared in the smaller one, if it is inside the other: the larger one,
or the whole, is compressed to it.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..directions.structure import Compressed, Dense, Isotropic, Structure
from ..directions.symmetry import average
from ..errors import InputError
from ..geometry import Geometry

LARGEST_DENSE = 4096  # 12 folds of this size are 1.6 GB


@dataclass(frozen=True)
class CommonStructure:
    """Where two geometries can be compared: a structure, and symmetries of both."""

    structure: Structure
    symmetries: tuple[str, ...]

    @classmethod
    def of(cls, a: Geometry, b: Geometry) -> "CommonStructure":
        """The finest structure that both geometries have.

        Raises:
            InputError: if they are of other shapes, or one is a tangent kernel and one is not.
        """
        if a.plan.of != b.plan.of:
            raise InputError(
                f"the first is a geometry of {a.plan.of} and the second one of {b.plan.of}, which "
                "are two quantities: compare two of one kind"
            )
        if a.shape != b.shape:
            first, second = ("x".join(map(str, g.shape)) for g in (a, b))
            raise InputError(
                f"only geometries of one shape can be compared: expected {first} as in the first, "
                f"got {second}; make both with that shape"
            )
        if isinstance(b.structure, Isotropic):
            return cls(a.structure, a.symmetries)
        if isinstance(a.structure, Isotropic):
            return cls(b.structure, b.symmetries)
        common = tuple(name for name in a.symmetries if name in b.symmetries)
        if a.compressed or b.compressed:
            return cls(_smaller(a.structure, b.structure), common)
        if a.structure == b.structure:
            return cls(a.structure, common)
        if a.structure.size > LARGEST_DENSE:
            raise InputError(
                f"structures {a.structure.kind} and {b.structure.kind} share no factor, and can be "
                f"compared in at most {LARGEST_DENSE} dimensions, got {a.structure.size}: choose a "
                "smaller shape"
            )
        return cls(Dense(a.shape), common)

    def fold(self, geometry: Geometry, k: int) -> Float[np.ndarray, "n n"]:
        """Fold k of a geometry in this structure; all folds of a closed form are equal."""
        own = geometry.structure
        factor = average(geometry.fold(0 if geometry.exact else k), own, geometry.symmetries)
        if own == self.structure:
            return factor
        if isinstance(own, Isotropic):
            return factor[0, 0] * np.eye(self.structure.rows)
        if isinstance(self.structure, Compressed):
            return _compressed(factor, own, self.structure)
        return own.expand(factor)

    def trace(self, geometry: Geometry) -> float:
        """The trace of the compared part of a geometry."""
        if not isinstance(self.structure, Compressed):
            return geometry.trace
        folds = 1 if geometry.exact else len(geometry.state.counts)
        weights = geometry.state.counts / geometry.state.counts.sum()
        traces = [float(np.trace(self.fold(geometry, k))) for k in range(folds)]
        return float(weights @ np.array(traces)) * self.structure.copies


def _smaller(a: Structure, b: Structure) -> Compressed:
    """The inner one of two structures, of which at least one is on a subspace."""
    if a.imposed == b.imposed:
        for own, other in ((a, b), (b, a)):
            if isinstance(own, Compressed) and _inside(own, other) is not None:
                return own
    raise InputError(
        f"the subspaces of the two geometries share no directions to compare ({_said(a)} and "
        f"{_said(b)}): estimate one of them in the subspace of the other"
    )


def _said(structure: Structure) -> str:
    kept = f"{structure.rows:,} of " if isinstance(structure, Compressed) else ""
    return f"{kept}{structure.imposed.rows:,} rows, {structure.imposed.kind}"


def _inside(own: Compressed, other: Structure) -> Float[np.ndarray, "n m"] | None:
    """One subspace in the coordinates of another; None if it is not inside."""
    if not isinstance(other, Compressed):
        return np.empty((0, own.rows))  # everything is inside the whole space
    return own.basis.inside(other.basis)


def _compressed(
    factor: Float[np.ndarray, "n n"], of: Structure, to: Compressed
) -> Float[np.ndarray, "m m"]:
    """A factor on a smaller subspace."""
    if not isinstance(of, Compressed):
        return to.basis.compress(factor)
    turn = to.basis.inside(of.basis)
    if turn is None:
        raise InputError("a geometry cannot be reduced to a subspace that it does not contain")
    return turn.T @ factor @ turn
