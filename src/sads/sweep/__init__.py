"""Sweeps: many trials, on one machine or many, that survive crashes and full disks."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .correlation import correlate
    from .describe.protocol import PROTOCOLS, Protocol
    from .describe.specification import Specification, load_specification
    from .describe.trial import Trial
    from .execute.run_sweep import run_sweep
    from .store.database import read_rows
    from .store.results import Results, load_results

# Names are imported on first use, because reading results needs neither torch nor NumPy.
_HOME_OF = {
    "PROTOCOLS": "describe.protocol",
    "Protocol": "describe.protocol",
    "Results": "store.results",
    "Specification": "describe.specification",
    "Trial": "describe.trial",
    "correlate": "correlation",
    "load_results": "store.results",
    "load_specification": "describe.specification",
    "read_rows": "store.database",
    "run_sweep": "execute.run_sweep",
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
