"""The whitened error of an estimate, in which small eigenvalues count as much as large ones.

    e = |G^{-1/2} (Ghat - G) G^{-1/2}|_F / sqrt(rank)

G is replaced by the pooled estimate on its numerical range. Two independent halves A and B with
Ghat = (A + B) / 2 have Cov(A - B) = 4 Cov(Ghat), so e is half their whitened distance.
"""

import math

import numpy as np
from jaxtyping import Bool, Float

from ..execution.threads import side_by_side
from .symmetry import LARGE, NULL, Sector


def numerical_range(values: Float[np.ndarray, " s"], largest: float) -> Bool[np.ndarray, " s"]:
    """Which eigenvalues are not numerically zero."""
    return values > NULL * largest


def halves_error(
    a: Float[np.ndarray, "n n"], b: Float[np.ndarray, "n n"], parts: list[Sector]
) -> float:
    """The whitened error of (A + B) / 2 from two independent halves, on the given sectors."""
    blocks = [(part, part.restrict(a), part.restrict(b)) for part in parts]
    at_once = side_by_side if len(a) >= LARGE else map
    spectra = list(at_once(np.linalg.eigh, [(x + y) / 2 for _, x, y in blocks]))
    largest = max(float(values[-1]) for values, _ in spectra)
    total, rank = 0.0, 0
    for (part, x, y), (values, vectors) in zip(blocks, spectra, strict=True):
        kept = numerical_range(values, largest)
        scale = vectors[:, kept] / np.sqrt(values[kept])
        total += part.multiplicity * float(np.sum((scale.T @ (x - y) @ scale) ** 2))
        rank += part.multiplicity * int(kept.sum())
    return math.sqrt(total / rank) / 2


def whitened_distance(
    a: Float[np.ndarray, "n n"], b: Float[np.ndarray, "n n"], reference: Float[np.ndarray, "n n"]
) -> float:
    """|R^{-1/2} (A - B) R^{-1/2}|_F / sqrt(rank R), on the numerical range of the reference R."""
    values, vectors = np.linalg.eigh(reference)
    kept = numerical_range(values, float(values[-1]))
    scale = vectors[:, kept] / np.sqrt(values[kept])
    return float(np.linalg.norm(scale.T @ (a - b) @ scale) / math.sqrt(kept.sum()))
