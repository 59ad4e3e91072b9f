"""Distances between samples: sliced and max-sliced Wasserstein. Pure NumPy, no networks."""

from .distance import Distance, measure_distance
from .gaussian import gaussian_wasserstein, gaussian_wasserstein_1d
from .leakage import leakage
from .max_sliced import MaxSlicedWasserstein, max_sliced_wasserstein
from .sliced import SlicedWasserstein, sliced_wasserstein

__all__ = [
    "Distance",
    "MaxSlicedWasserstein",
    "SlicedWasserstein",
    "gaussian_wasserstein",
    "gaussian_wasserstein_1d",
    "leakage",
    "max_sliced_wasserstein",
    "measure_distance",
    "sliced_wasserstein",
]
