"""Estimates whose parts are computed by workers, here or on other machines."""

from .batches import EngineWorkers, batch_workers_for

__all__ = ["EngineWorkers", "batch_workers_for"]
