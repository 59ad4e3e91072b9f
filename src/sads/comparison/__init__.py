"""Whether two geometries differ beyond their error bars, where, and by how much."""

from .compare import BandDifference, Comparison, compare

__all__ = ["BandDifference", "Comparison", "compare"]
