"""Leakage: the part of samples outside the subspace in which the data lies.

With P the projection onto that subspace, leakage is sqrt(E|x - P x|^2). The data has none, so it
is also the Wasserstein distance W2 between samples and data outside the subspace.
"""

import numpy as np
from jaxtyping import Float


def leakage(x: Float[np.ndarray, "N ..."], support: Float[np.ndarray, "D k"]) -> float:
    """Root mean square of the part of samples outside the span of orthonormal columns.

    >>> leakage(np.array([[3.0, 2.0], [5.0, -2.0]]), np.array([[1.0], [0.0]]))
    2.0
    """
    flat = x.reshape(len(x), -1).astype(float)
    outside = flat - (flat @ support) @ support.T
    return float(np.sqrt(np.square(outside).sum(axis=1).mean()))
