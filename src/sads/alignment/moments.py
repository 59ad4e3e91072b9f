"""The second moment of data, C = E[x x^T], in one pass over the samples.

C is not centred (section 3.3). It is accumulated in float64, in place, chunk by chunk, so that
memory does not grow with the number of samples. For tr(G C) with a geometry of n rows and m copies
(`directions.structure`) it is enough to know

    R[a, b] = sum_j C[(a, j), (b, j)],      n x n;

the whole of C is needed for its eigenvalues. In a subspace (`directions.subspaces`) C is the
second moment of the samples' coordinates, and their energy says how much lies outside.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh, eigvalsh
from scipy.linalg.blas import dsyrk  # pyright: ignore[reportAttributeAccessIssue]

from ..data import Dataset
from ..directions import Structure
from ..directions.structure import Compressed
from ..errors import InputError

CHUNK = 512  # samples added at once
MOST_VALUES = 2**25  # most values of the samples added at once, if they are large
Samples = Dataset | np.ndarray | Iterable[np.ndarray]
Watch = Callable[[np.ndarray], None]


@dataclass(frozen=True, eq=False)
class Moment:
    """The empirical second moment of a set of samples.

    Attributes:
        matrix: C, symmetric; in a subspace the second moment of the coordinates.
        count: the number of samples behind it.
        name: the name of the data.
        energy: the mean of |x|^2, including what lies outside a subspace.
    """

    matrix: Float[np.ndarray, "D D"]
    count: int
    name: str
    energy: float

    @property
    def trace(self) -> float:
        """The trace of C, the mean of |x|^2; in a subspace only the part inside."""
        return float(np.trace(self.matrix))

    def reduced(self, structure: Structure) -> Float[np.ndarray, "n n"]:
        """R, the moment summed over the copies of a structure."""
        if structure.rows == 1:
            return np.array([[self.trace]])
        if isinstance(structure, Compressed):
            sides = (structure.copies, structure.rows)
            return np.einsum("jajb->ab", self.matrix.reshape(sides * 2))
        result = np.zeros((structure.rows, structure.rows))
        for copy in structure.entries.T:
            result += self.matrix[np.ix_(copy, copy)]
        return result

    def eigenvalues(self, *, destroy: bool = False) -> Float[np.ndarray, " D"]:
        """Eigenvalues, descending; those that are negative by rounding are set to zero.

        Args:
            destroy: whether to compute in the matrix's own memory, which destroys it.
        """
        values = eigvalsh(self.matrix, overwrite_a=destroy, check_finite=False)
        return np.maximum(values[::-1], 0.0)

    def leading(self, count: int) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "D k"]]:
        """The `count` largest eigenvalues, descending, and their eigenvectors as columns."""
        size = len(self.matrix)
        values, vectors = eigh(
            self.matrix, subset_by_index=[size - count, size - 1], check_finite=False
        )
        return np.maximum(values[::-1], 0.0), vectors[:, ::-1]


def second_moment(
    data: Samples,
    shape: tuple[int, ...],
    *,
    subspace: Compressed | None = None,
    watch: Watch | None = None,
    name: str = "data",
) -> Moment:
    """C of samples that are read once.

    Args:
        data: a dataset, an array (N, *shape), or an iterable of such arrays.
        shape: shape of one sample.
        subspace: use only the coordinates in this subspace.
        watch: called with each chunk of flattened samples, float64 (n, D).
        name: a name for data that has none itself.

    Raises:
        InputError: if the shape differs, values are not finite, or all samples are the same.
    """
    name = data.name if isinstance(data, Dataset) else name
    size = int(np.prod(shape)) if subspace is None else subspace.directions
    matrix = np.zeros((size, size), order="F")  # BLAS adds in place only with this order
    count, spread, energy, first = 0, 0.0, 0.0, None
    for chunk in _chunks(data, shape, name):
        first = chunk[0].copy() if first is None else first
        spread = max(spread, float(np.abs(chunk - first).max()))
        own = chunk if subspace is None else subspace.parts(chunk).reshape(len(chunk), -1)
        matrix = dsyrk(1.0, own.T, beta=1.0, c=matrix, lower=1, overwrite_c=1)
        energy += float(np.vdot(chunk, chunk))
        count += len(chunk)
        if watch is not None:
            watch(chunk)
    if first is None:
        raise InputError(f"{name} has no samples")
    if spread == 0.0:
        what = "zero" if not first.any() else "the same"
        raise InputError(
            f"all {count:,} samples of {name} are {what}: expected data that varies; check how it "
            "was read and scaled"
        )
    matrix /= count
    return Moment(_symmetric(matrix), count, name, energy / count)


def _chunks(data: Samples, shape: tuple[int, ...], name: str) -> Iterator[np.ndarray]:
    """Flattened float64 chunks of bounded size, checked."""
    if isinstance(data, Dataset):
        data = data.samples
    for part in [data] if isinstance(data, np.ndarray) else data:
        if part.shape[1:] != shape:
            expected, got = ("x".join(map(str, s)) for s in (shape, part.shape[1:]))
            raise InputError(
                f"{name} has samples of shape {got or 'a single number'}, the geometry has "
                f"{expected}: resize the data, or make a geometry on {got}"
            )
        together = max(1, min(CHUNK, MOST_VALUES // int(np.prod(shape))))
        for start in range(0, len(part), together):
            chunk = (
                part[start : start + together].reshape(-1, int(np.prod(shape))).astype(np.float64)
            )
            if not np.isfinite(chunk).all():
                raise InputError(f"{name} has NaN or infinite values: clean it first")
            yield chunk


def _symmetric(lower: Float[np.ndarray, "D D"]) -> Float[np.ndarray, "D D"]:
    """Copy the lower triangle to the upper one, in place and by blocks."""
    for start in range(0, len(lower), CHUNK):
        stop = min(start + CHUNK, len(lower))
        lower[:start, start:stop] = lower[start:stop, :start].T
        block = np.tril(lower[start:stop, start:stop])
        lower[start:stop, start:stop] = block + np.tril(block, -1).T
    return lower
