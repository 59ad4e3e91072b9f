"""Similarity of two eigenbases by windowed projection energy (appendix F, equation 30).

For eigenvector v_d of one geometry and the 2h + 1 consecutive eigenvectors of another geometry
around the same index, the energy |U_{a:b}^T v_d|^2 is 1 when v_d lies in their span and (2h + 1)/D
on average for unrelated bases.
"""

import numpy as np
from jaxtyping import Float

from ..errors import InputError


def windowed_similarity(
    u: Float[np.ndarray, "D D"], v: Float[np.ndarray, "D D"], *, half_width: int = 1
) -> Float[np.ndarray, " D"]:
    """Energy of each column of v in the window of columns of u around its index.

    At either end the window is shifted inwards, so that it always has 2h + 1 columns.

    >>> windowed_similarity(np.eye(4), np.eye(4), half_width=0)
    array([1., 1., 1., 1.])
    """
    size = u.shape[1]
    width = 2 * half_width + 1
    if half_width < 0 or width > size:
        raise InputError(f"half_width must be from 0 to {(size - 1) // 2}, got {half_width}")
    energy = np.vstack([np.zeros(size), ((u.T @ v) ** 2).cumsum(axis=0)])
    first = np.clip(np.arange(size) - half_width, 0, size - width)
    columns = np.arange(size)
    return energy[first + width, columns] - energy[first, columns]


def similarity_baseline(size: int, *, half_width: int = 1) -> float:
    """The average similarity of unrelated bases, (2h + 1)/D."""
    return (2 * half_width + 1) / size
