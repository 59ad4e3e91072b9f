"""Orthogonal matrices: full, random, and the least move of a few directions.

*Least move.* Let the columns of V and T (D x k) be orthonormal. Of all orthogonal W with W V = T,

    W = I - Y A^+ Y^T,      Y = V - T,      A = Y^T V = I - T^T V,

moves the fewest directions: W - I has rank at most k and D - k directions stay exactly where they
are. It is orthogonal because Y^T Y = A + A^T. Rounding where A is nearly singular (a direction that
is nearly in its place) is removed in the span of V and T, where W acts.

*Repeated eigenvalues.* Any orthonormal basis of an eigenspace is as good as another. The one
chosen here depends on the subspace alone: Gram-Schmidt on the projections of the coordinate axes,
taking the longest at each step and the earliest among equals.
"""

import itertools

import numpy as np
from jaxtyping import Float

EQUAL = 1e-10  # eigenvalues closer than this fraction of the largest count as repeated


def least_move(
    origin: Float[np.ndarray, "D k"], target: Float[np.ndarray, "D k"]
) -> Float[np.ndarray, "D D"]:
    """The orthogonal matrix that takes origin to target and moves the fewest directions."""
    size, count = origin.shape
    if count == size:
        return target @ origin.T
    step = origin - target
    kernel = np.linalg.pinv(step.T @ origin, rcond=1e-12)
    # An orthonormal basis of everything that moves; W is the identity on the rest.
    basis, strengths, _ = np.linalg.svd(step, full_matrices=False)
    basis = basis[:, strengths > 1e-12]
    if not basis.shape[1]:
        return np.eye(size)
    inner = basis.T @ step
    small = np.eye(basis.shape[1]) - inner @ kernel @ inner.T
    left, _, right = np.linalg.svd(small)
    return np.eye(size) + basis @ (left @ right - np.eye(len(small))) @ basis.T


def random_orthogonal(
    size: int, count: int, generator: np.random.Generator
) -> Float[np.ndarray, "D k"]:
    """Orthonormal columns, uniform on the set of such matrices (Haar measure)."""
    columns, triangle = np.linalg.qr(generator.standard_normal((size, count)))
    return columns * np.where(np.diag(triangle) < 0, -1.0, 1.0)


def repeats(values: Float[np.ndarray, " k"], largest: float) -> list[slice]:
    """Runs of equal eigenvalues in a descending list, runs of one included."""
    breaks = np.flatnonzero(values[:-1] - values[1:] > EQUAL * largest) + 1
    edges = [0, *breaks.tolist(), len(values)]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def settle(
    values: Float[np.ndarray, " k"], vectors: Float[np.ndarray, "D k"]
) -> Float[np.ndarray, "D k"]:
    """Eigenvectors with fixed signs, and with fixed bases where eigenvalues repeat."""
    result = np.empty_like(vectors)
    for run in repeats(values, float(values[0])):
        result[:, run] = _settled_basis(vectors[:, run])
    return result


def _settled_basis(basis: Float[np.ndarray, "D k"]) -> Float[np.ndarray, "D k"]:
    """A basis of the same subspace that depends only on its projector."""
    count = basis.shape[1]
    rest = basis.copy()  # row i: the part of axis i's projection not yet used
    lengths = np.square(rest).sum(axis=1)
    result = np.empty_like(basis)
    for column in range(count):
        row = int(np.flatnonzero(lengths >= (1 - 1e-6) * lengths.max())[0])
        direction = rest[row] / np.linalg.norm(rest[row])
        shadow = rest @ direction
        rest -= np.outer(shadow, direction)
        lengths = np.maximum(lengths - np.square(shadow), 0.0)
        result[:, column] = basis @ direction
    return result
