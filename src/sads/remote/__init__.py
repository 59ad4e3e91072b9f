"""Estimates and forecasts whose parts are computed by workers, here or on other machines."""

from .batches import EngineWorkers, batch_workers_for
from .forecast_rows import EngineRows, row_workers_for

__all__ = ["EngineRows", "EngineWorkers", "batch_workers_for", "row_workers_for"]
