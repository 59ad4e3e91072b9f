"""Sweeps: many trials, on one machine or many, that survive crashes and full disks.

The names are listed in `__init__.pyi`. They are imported on first use, because reading results
needs neither torch nor NumPy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
