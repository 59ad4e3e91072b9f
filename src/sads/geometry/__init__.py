"""The average geometry of untrained networks: probes, estimators, closed forms, the result."""

from ..probes import Forward, Gaussian, Point, Probe, Zero
from .estimate import (
    Goal,
    Options,
    Progress,
    estimate_geometry,
    planned_geometry,
    running_estimates,
)
from .result import Geometry, keep_spectrum, load_geometry

__all__ = [
    "Forward",
    "Gaussian",
    "Geometry",
    "Goal",
    "Options",
    "Point",
    "Probe",
    "Progress",
    "Zero",
    "estimate_geometry",
    "keep_spectrum",
    "load_geometry",
    "planned_geometry",
    "running_estimates",
]
