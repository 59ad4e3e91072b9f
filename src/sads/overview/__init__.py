"""One call, one table: what there is to know about an architecture in a few seconds."""

from .examine import NETWORKS, summarise
from .values import Summary

__all__ = ["NETWORKS", "Summary", "summarise"]
