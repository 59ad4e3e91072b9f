"""Other people's modules as noise-predicting score networks."""

from .calls import PREDICTIONS, Adapted, adapt

__all__ = ["PREDICTIONS", "Adapted", "adapt"]
