"""An examination of untrained networks: what is wrong with them, and what to change."""

from .diagnosis import NETWORKS, Diagnosis, diagnose
from .finding import Finding

__all__ = ["NETWORKS", "Diagnosis", "Finding", "diagnose"]
