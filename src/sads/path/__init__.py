"""Paths from data to noise, what networks predict on them, and the times they are given."""

from .base import WEIGHTINGS, DiffusionPath
from .named_paths import PATHS, path_of
from .predictions import PREDICTIONS, Prediction, prediction_named
from .rectified_flow import RectifiedFlow
from .times import TIMES, time_values
from .variance_exploding import EDM, VarianceExploding
from .variance_preserving import KINDS, Schedule

__all__ = [
    "EDM",
    "KINDS",
    "PATHS",
    "PREDICTIONS",
    "TIMES",
    "WEIGHTINGS",
    "DiffusionPath",
    "Prediction",
    "RectifiedFlow",
    "Schedule",
    "VarianceExploding",
    "path_of",
    "prediction_named",
    "time_values",
]
