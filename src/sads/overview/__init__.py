"""One call, one table: what there is to know about an architecture in a few seconds."""

from .examine import FORECAST, NETWORKS, forecast_first_step, summarise
from .values import Summary

__all__ = ["FORECAST", "NETWORKS", "Summary", "forecast_first_step", "summarise"]
