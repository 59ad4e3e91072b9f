"""Distances between samples: sliced and max-sliced Wasserstein. Pure NumPy, no networks."""

from .gaussian import gaussian_wasserstein, gaussian_wasserstein_1d
from .max_sliced import MaxSlicedWasserstein, max_sliced_wasserstein
from .sliced import SlicedWasserstein, sliced_wasserstein

__all__ = [
    "MaxSlicedWasserstein",
    "SlicedWasserstein",
    "gaussian_wasserstein",
    "gaussian_wasserstein_1d",
    "max_sliced_wasserstein",
    "sliced_wasserstein",
]
