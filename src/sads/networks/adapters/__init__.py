"""Other people's modules as noise-predicting score networks."""

from .assumptions import Assumptions, assumptions_of
from .calling import Calling
from .calls import PREDICTIONS, Adapted, adapt, module_inside, own_output, own_prediction

__all__ = [
    "PREDICTIONS",
    "Adapted",
    "Assumptions",
    "Calling",
    "adapt",
    "assumptions_of",
    "module_inside",
    "own_output",
    "own_prediction",
]
