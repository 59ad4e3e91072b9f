"""Whether two geometries differ beyond their error bars, where, and by how much."""

from .compare import compare
from .values import BandDifference, Comparison

__all__ = ["BandDifference", "Comparison", "compare"]
