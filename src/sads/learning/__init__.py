"""What training does, direction by direction: its forecast, and the risk of a trained network."""

from .forecast import Forecast
from .forecast_artefact import load_forecast
from .forecast_setting import Scene
from .make_forecast import forecast_training
from .measure_risk import measure_risk
from .monitor import Monitor
from .recipe import Recipe
from .record_artefact import load_record
from .references import HeldOut, Optimum, Reference, reference_for
from .risk import Risk
from .training_record import Lag, TrainingRecord

__all__ = [
    "Forecast",
    "HeldOut",
    "Lag",
    "Monitor",
    "Optimum",
    "Recipe",
    "Reference",
    "Risk",
    "Scene",
    "TrainingRecord",
    "forecast_training",
    "load_forecast",
    "load_record",
    "measure_risk",
    "reference_for",
]
