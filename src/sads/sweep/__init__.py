"""Sweeps: many trials that survive anything, on one machine or many."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .protocol import PROTOCOLS, Protocol
    from .results import Results, load_results
    from .specification import Specification, load_specification
    from .start import run_sweep
    from .statistics import correlate
    from .store import read_rows
    from .trial import Trial

# Names are imported when they are first used: reading results needs no torch and no NumPy.
_HOME_OF = {
    "PROTOCOLS": "protocol",
    "Protocol": "protocol",
    "Results": "results",
    "Specification": "specification",
    "Trial": "trial",
    "correlate": "statistics",
    "load_results": "results",
    "load_specification": "specification",
    "read_rows": "store",
    "run_sweep": "start",
}

__all__ = [
    "PROTOCOLS",
    "Protocol",
    "Results",
    "Specification",
    "Trial",
    "correlate",
    "load_results",
    "load_specification",
    "read_rows",
    "run_sweep",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sads.sweep' has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
