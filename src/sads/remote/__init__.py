"""Estimates whose parts are computed by workers, here or on other machines."""

from .batches import EngineSupply, supply_for

__all__ = ["EngineSupply", "supply_for"]
