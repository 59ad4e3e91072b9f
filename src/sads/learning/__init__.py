"""What training does, direction by direction: the risk of a trained network, by noise level."""

from .references import HeldOut, Optimum, Reference, reference_for
from .risk import Risk, measure_risk

__all__ = ["HeldOut", "Optimum", "Reference", "Risk", "measure_risk", "reference_for"]
