"""Other people's modules as noise-predicting score networks."""

from .assumptions import Assumptions, assumptions_of
from .calls import PREDICTIONS, Adapted, adapt

__all__ = ["PREDICTIONS", "Adapted", "Assumptions", "adapt", "assumptions_of"]
