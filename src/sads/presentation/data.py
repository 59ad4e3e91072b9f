"""A dataset in plain values and in words."""

from typing import Any

import numpy as np

from ..data import Dataset
from ..data.channels import Channel, channel_statistics
from ..data.effective_rank import trace_and_rank
from .numbers import sizes

MOST_CHANNELS = 32  # that are listed one by one


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
        "channels": [channel._asdict() for channel in channel_statistics(samples)],
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
        *_channel_lines(channel_statistics(data.samples)),
        f"Second moment: trace {facts['second_moment_trace']:.5g}, "
        f"effective rank {facts['effective_rank']:.4g} of {size:,}.",
    ]


def _channel_lines(channels: list[Channel]) -> list[str]:
    """Mean and standard deviation of each channel, where there are several."""
    if not 1 < len(channels) <= MOST_CHANNELS:
        return []
    means, spreads = (", ".join(f"{one[i]:.4g}" for one in channels) for i in (0, 1))
    return [f"By channel: mean {means}; standard deviation {spreads}."]
