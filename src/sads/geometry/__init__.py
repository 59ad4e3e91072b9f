"""The average geometry of untrained networks: probes, estimators, closed forms, the result."""

from ..probes import Forward, Gaussian, Point, Probe, Zero
from .estimate import Options, PlainOptions, estimate_geometry, planned_geometry, running_estimates
from .geometry import Geometry, keep_spectrum, load_geometry
from .goal import Goal
from .run import Progress

__all__ = [
    "Forward",
    "Gaussian",
    "Geometry",
    "Goal",
    "Options",
    "PlainOptions",
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
