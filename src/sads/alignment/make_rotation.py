"""Making rotations of data: orthogonal maps W that change how data lies in a geometry.

With eigenvectors of G in U and of C in V as columns, both descending, and R the reversal
(theorem 2),

    W_min = U R V^T      takes the leading data directions to the smallest eigenvalues of G,
    W_max = U V^T        takes them to the largest.

*Rank k* takes only the leading k data directions there and leaves D - k directions exactly in place
(`orthogonal.least_move`). The network learns z = W x; samples return by x = W^T z.

*Whitening* changes lengths as well: W = C^(-1/2), the symmetric root, so that E[z z^T] = I and a
geometry cannot prefer any direction; alpha is tr G. Directions with an eigenvalue below `FLOOR` of
the mean are stretched as if they had that value. Samples return by C^(1/2) z.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from ..errors import InputError
from ..geometry import Geometry
from ..randomness import Random, as_seed, stream
from .moments import Moment, Samples, second_moment
from .orthogonal import EQUAL, least_move, random_orthogonal, repeats, settle
from .rotation import Origin, Rotation, geometry_digest

FLOOR = 1e-3  # of the mean eigenvalue of C
KINDS = ("min", "max", "random", "identity", "whiten")


def make_rotation(
    kind: str,
    *,
    shape: tuple[int, ...] | None = None,
    geometry: Geometry | None = None,
    data: Samples | None = None,
    rank: int | None = None,
    seed: Random = 0,
) -> Rotation:
    """A rotation of a given kind.

    Args:
        kind: `min` and `max` need a geometry and data; `whiten`, and `random` with a rank, need
            data.
        shape: the shape of one sample, if there is no geometry.
        geometry: the geometry in which the data is aligned.
        data: the data whose leading directions are placed.
        rank: the number of these directions; all unless given.
        seed: the seed of a random rotation, or a generator that gives one.
    """
    seed = as_seed(seed)
    if geometry is not None and geometry.compressed:
        raise InputError(
            f"a rotation needs a geometry of the whole space, this one is of the subspace "
            f"{geometry.plan.subspace}: the directions of small eigenvalue, where data is moved, "
            "are outside; make a geometry of a smaller shape in the whole"
        )
    size = _size(kind, shape, geometry, data, rank)
    shape = geometry.shape if geometry is not None else tuple(shape or ())
    moment = None if data is None else second_moment(data, shape)
    back = None
    if kind == "identity":
        matrix, repeated = np.eye(size), (0, 0)
    elif kind == "whiten" and moment is not None:
        (matrix, back), repeated = _whitening(moment), (0, 0)
    elif kind == "random" and rank is None:
        matrix, repeated = random_orthogonal(size, size, stream(seed, "a whole rotation")), (0, 0)
    else:
        matrix, repeated = _placed(kind, geometry, moment, rank or size, seed)
    alpha = before = None
    if geometry is not None and moment is not None:
        alpha = _rotated_alpha(geometry, moment, matrix)
        before = float(np.vdot(geometry.factor, moment.reduced(geometry.structure)))
    origin = Origin(
        kind=kind,  # pyright: ignore[reportArgumentType] - checked
        shape=shape,
        rank=rank,
        seed=seed if kind == "random" else None,
        data=None if moment is None else moment.name,
        alpha=alpha,
        alpha_before=before,
        repeated=repeated,
        **(_identity(geometry) if geometry is not None and kind in ("min", "max") else {}),
    )
    inverse = None if back is None else torch.from_numpy(back.astype(np.float32))
    return Rotation(torch.from_numpy(matrix.astype(np.float32)), origin, inverse)


def _whitening(moment: Moment) -> tuple[Float[np.ndarray, "D D"], Float[np.ndarray, "D D"]]:
    """C^(-1/2) and C^(1/2), with small eigenvalues of C raised to the floor."""
    values, vectors = moment.leading(len(moment.matrix))
    roots = np.sqrt(np.maximum(values, FLOOR * moment.trace / len(values)))
    return (vectors / roots) @ vectors.T, (vectors * roots) @ vectors.T


def _size(
    kind: str,
    shape: tuple[int, ...] | None,
    geometry: Geometry | None,
    data: Samples | None,
    rank: int | None,
) -> int:
    """D, after all checks that are cheap."""
    if kind not in KINDS:
        raise InputError(f"unknown rotation {kind!r}: expected {', '.join(KINDS)}")
    if kind in ("min", "max") and (geometry is None or data is None):
        raise InputError(f"the rotation {kind!r} needs a geometry and data: name both")
    if kind == "identity" and rank is not None:
        raise InputError("the identity moves nothing: it takes no rank")
    if kind == "whiten" and (data is None or rank is not None):
        raise InputError("whitening needs data and changes all directions: name data, and no rank")
    if kind == "random" and rank is not None and data is None:
        raise InputError("a random rotation of some rank needs the data whose directions it moves")
    if geometry is None and shape is None:
        raise InputError("a rotation needs the shape of one sample, or a geometry")
    size = int(np.prod(geometry.shape if geometry is not None else shape or ()))
    if rank is not None and not 1 <= rank <= size:
        raise InputError(f"the rank is between 1 and {size}, the number of dimensions, got {rank}")
    return size


def _placed(
    kind: str, geometry: Geometry | None, moment: Moment | None, rank: int, seed: int
) -> tuple[Float[np.ndarray, "D D"], tuple[int, int]]:
    """W that places the leading `rank` data directions, and how many directions repeat."""
    if moment is None:  # checked before
        raise InputError("data is needed")
    sigmas, origin = moment.leading(rank)
    origin = settle(sigmas, origin)
    shared = _repeated(sigmas)
    if kind == "random" or geometry is None:
        generator = stream(seed, "a rotation of some rank")
        return least_move(origin, random_orthogonal(len(origin), rank, generator)), (0, shared)
    values, target = _target(geometry, rank, smallest=kind == "min")
    # Among sampled eigenvalues only the copies of a structure repeat.
    exact = geometry.exact or geometry.structure.copies > 1
    return least_move(origin, target), (_repeated(values) if exact else 0, shared)


def _target(
    geometry: Geometry, rank: int, *, smallest: bool
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "D k"]]:
    """Eigenvalues and eigenvectors of the whole G from one end of its spectrum, the end first."""
    spectrum, structure = geometry.spectrum(), geometry.structure
    values, vectors = spectrum.factor_values, spectrum.factor_vectors
    if geometry.exact:
        vectors = settle(values, vectors)
    rows = -(-rank // structure.copies)
    chosen = slice(None, -rows - 1, -1) if smallest else slice(rows)
    whole = structure.embed(np.ascontiguousarray(vectors[:, chosen]))
    return np.repeat(values[chosen], structure.copies)[:rank], whole[:, :rank]


def _repeated(values: Float[np.ndarray, " k"]) -> int:
    """The number of eigenvalues in a list with an equal neighbour."""
    ordered = np.sort(values)[::-1]
    runs = repeats(ordered, max(float(ordered[0]), EQUAL))
    return sum(run.stop - run.start for run in runs if run.stop - run.start > 1)


def _rotated_alpha(geometry: Geometry, moment: Moment, matrix: Float[np.ndarray, "D D"]) -> float:
    """tr(G W C W^T) (equation 6)."""
    return float(np.vdot(geometry.matvec(matrix.T).T, matrix @ moment.matrix))


def _identity(geometry: Geometry) -> dict[str, Any]:
    """What tells a geometry from others."""
    return {
        "network": geometry.plan.network,
        "fingerprint": geometry.plan.fingerprint,
        "redrawn": geometry.plan.redrawn,
        "geometry": geometry_digest(geometry),
    }
