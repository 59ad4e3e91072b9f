"""Independent estimates of a matrix whose eigenvectors are known."""

import numpy as np

from sads.directions import FOLDS


def wishart_folds(
    factor: np.ndarray, per_fold: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """FOLDS sample second moments of N(0, factor), and their counts."""
    values, vectors = np.linalg.eigh(factor)
    root = vectors * np.sqrt(np.maximum(values, 0))
    samples = rng.standard_normal((FOLDS, per_fold, len(factor))) @ root.T
    return samples.transpose(0, 2, 1) @ samples / per_fold, np.full(FOLDS, per_fold)


def random_basis(size: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((size, size)))[0]
