"""A dataset in plain values and in words.

The second moment M = E[x x^T] is not centred. Its effective rank is the participation ratio

    (tr M)^2 / tr(M^2),

1 for rank-one data, k if k eigenvalues are equal and the others zero. The smaller of X^T X and
X X^T is formed; both have the same eigenvalues.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from .dataset import Dataset

_ROWS = 1024  # taken at a time, so that only a part is ever held in float64


def summary(data: Dataset) -> dict[str, Any]:
    """What `sads data --json` prints."""
    samples = data.samples
    trace, rank = moments(samples.reshape(len(samples), -1))
    return {
        "data": data.name,
        "count": len(samples),
        "shape": list(data.shape),
        "minimum": float(samples.min()),
        "maximum": float(samples.max()),
        "mean": float(samples.mean(dtype=np.float64)),
        "second_moment_trace": trace,
        "effective_rank": rank,
    }


def moments(x: Float[np.ndarray, "N D"]) -> tuple[float, float]:
    """The trace and the effective rank of the second moment; rank 0 if all samples are zero."""
    tall = x if x.shape[0] >= x.shape[1] else x.T
    gram = np.zeros((tall.shape[1], tall.shape[1]))
    for start in range(0, len(tall), _ROWS):
        part = tall[start : start + _ROWS].astype(np.float64)
        gram += part.T @ part
    gram /= len(x)
    trace, square = float(np.trace(gram)), float(np.square(gram).sum())
    return trace, trace**2 / square if square > 0 else 0.0


def sentences(data: Dataset) -> list[str]:
    """What a reader wants to know first."""
    found = summary(data)
    shape = "x".join(map(str, data.shape))
    size = int(np.prod(data.shape))
    return [
        f"{data.name}: {found['count']:,} samples of {shape} ({size:,} values each).",
        f"Values from {found['minimum']:.4g} to {found['maximum']:.4g}, mean {found['mean']:.4g}.",
        f"Second moment: trace {found['second_moment_trace']:.5g}, "
        f"effective rank {found['effective_rank']:.4g} of {size:,}.",
    ]
