"""One call, one table: what there is to know about an architecture in a few seconds."""

from .examine import FORECAST, forecast_first_step, summarise
from .values import Summary

__all__ = ["FORECAST", "Summary", "forecast_first_step", "summarise"]
