"""Alignment: geometries against each other and against data."""

from .compare import BandDifference, Comparison, compare

__all__ = ["BandDifference", "Comparison", "compare"]
