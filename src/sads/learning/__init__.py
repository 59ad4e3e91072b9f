"""What training does, direction by direction: its forecast, and the risk of a trained network."""

from .forecast import Forecast, forecast_training
from .forecast_artefact import load_forecast
from .recipe import Recipe
from .references import HeldOut, Optimum, Reference, reference_for
from .risk import Risk, measure_risk
from .scene import Scene

__all__ = [
    "Forecast",
    "HeldOut",
    "Optimum",
    "Recipe",
    "Reference",
    "Risk",
    "Scene",
    "forecast_training",
    "load_forecast",
    "measure_risk",
    "reference_for",
]
