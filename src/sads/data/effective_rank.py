"""The trace of the second moment of data, and the number of directions over which it spreads.

The second moment M = E[x x^T] is not centred. Its effective rank is the participation ratio

    (tr M)^2 / tr(M^2),

1 for rank-one data, k if k eigenvalues are equal and the others zero. The smaller of X^T X and
X X^T is formed; both have the same eigenvalues.
"""

import numpy as np
from jaxtyping import Float

_ROWS = 1024  # at a time, so that only a part is in float64


def trace_and_rank(x: Float[np.ndarray, "N D"]) -> tuple[float, float]:
    """The trace and the effective rank of the second moment; rank 0 if all samples are zero."""
    tall = x if x.shape[0] >= x.shape[1] else x.T
    gram = np.zeros((tall.shape[1], tall.shape[1]))
    for start in range(0, len(tall), _ROWS):
        part = tall[start : start + _ROWS].astype(np.float64)
        gram += part.T @ part
    gram /= len(x)
    trace, square = float(np.trace(gram)), float(np.square(gram).sum())
    return trace, trace**2 / square if square > 0 else 0.0
