"""Sweeps: many trials that survive anything, on one machine or many. No torch until one runs."""

from .protocol import PROTOCOLS, Protocol
from .specification import Specification, load_specification
from .start import run_sweep
from .store import read_rows
from .trial import Trial

__all__ = [
    "PROTOCOLS",
    "Protocol",
    "Specification",
    "Trial",
    "load_specification",
    "read_rows",
    "run_sweep",
]
