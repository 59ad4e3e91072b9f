"""Other people's modules as noise-predicting score networks."""

from .assumptions import Assumptions, assumptions_of
from .calls import PREDICTIONS, Adapted, adapt, module_inside, own_output, own_prediction
from .stated_calls import Calling

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
