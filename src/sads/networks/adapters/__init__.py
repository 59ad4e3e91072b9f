"""Other people's modules as noise-predicting score networks."""

from .assumptions import Assumptions, assumptions_of
from .calls import PREDICTIONS, Adapted, adapt, module_inside

__all__ = ["PREDICTIONS", "Adapted", "Assumptions", "adapt", "assumptions_of", "module_inside"]
