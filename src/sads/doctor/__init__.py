"""What is wrong with this network, in words."""

from .diagnosis import NETWORKS, Diagnosis, diagnose
from .finding import Finding

__all__ = ["NETWORKS", "Diagnosis", "Finding", "diagnose"]
