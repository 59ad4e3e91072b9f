"""Directions: the spectrum of a geometry, its bands and certificates. Pure NumPy, no networks."""

from .bands import Band
from .folds import FOLDS
from .levels import Resolution
from .similarity import similarity_baseline, windowed_similarity
from .spectrum import SADs, Spectrum, exact_spectrum, sampled_spectrum
from .structure import Structure

__all__ = [
    "FOLDS",
    "Band",
    "Resolution",
    "SADs",
    "Spectrum",
    "Structure",
    "exact_spectrum",
    "sampled_spectrum",
    "similarity_baseline",
    "windowed_similarity",
]
