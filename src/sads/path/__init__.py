"""Paths from data to noise, what networks predict on them, and the times they are given."""

from .base import WEIGHTINGS, DiffusionPath
from .exploding import EDM, VarianceExploding
from .flow import RectifiedFlow
from .known import PATHS, path_of
from .predictions import PREDICTIONS, Prediction, prediction_named
from .preserving import KINDS, Schedule
from .times import TIMES, time_values

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
