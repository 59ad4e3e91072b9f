"""Mean and standard deviation of each channel, for scaling latents of an autoencoder."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Channel(NamedTuple):
    """The values of one channel, over samples and positions.

    Attributes:
        mean: their mean.
        standard_deviation: their standard deviation.
    """

    mean: float
    standard_deviation: float


def channel_statistics(samples: Float[np.ndarray, "N ..."]) -> list[Channel]:
    """The statistics of samples (N, C, *sides), by channel; none for flat vectors.

    >>> channel_statistics(np.array([[[1.0, 3.0], [5.0, 5.0]]]))
    [Channel(mean=2.0, standard_deviation=1.0), Channel(mean=5.0, standard_deviation=0.0)]
    """
    if samples.ndim < 3:
        return []
    # One channel at a time: a copy of all samples in float64 may not fit.
    values = (samples[:, c].astype(np.float64) for c in range(samples.shape[1]))
    return [Channel(float(one.mean()), float(one.std())) for one in values]
