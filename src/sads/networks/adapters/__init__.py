"""Adapters that turn other people's modules into noise-predicting score networks."""

from .adaptation import adapt
from .assumptions import Assumptions, assumptions_of
from .calls import Adapted, module_inside, own_output, own_prediction
from .stated_calls import Calling

__all__ = [
    "Adapted",
    "Assumptions",
    "Calling",
    "adapt",
    "assumptions_of",
    "module_inside",
    "own_output",
    "own_prediction",
]
