"""A dataset in plain values and in words."""

from typing import Any

import numpy as np

from ..data import Dataset
from ..data.effective_rank import trace_and_rank
from .numbers import sizes


def summary(data: Dataset) -> dict[str, Any]:
    """What `sads data --json` prints."""
    samples = data.samples
    trace, rank = trace_and_rank(samples.reshape(len(samples), -1))
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


def sentences(data: Dataset) -> list[str]:
    """What a reader wants to know first."""
    facts = summary(data)
    size = int(np.prod(data.shape))
    return [
        f"{data.name}: {facts['count']:,} samples of {sizes(data.shape)} ({size:,} values each).",
        f"Values from {facts['minimum']:.4g} to {facts['maximum']:.4g}, mean {facts['mean']:.4g}.",
        f"Second moment: trace {facts['second_moment_trace']:.5g}, "
        f"effective rank {facts['effective_rank']:.4g} of {size:,}.",
    ]
