"""sads: what a score network will learn first, and where error will be left, before training.

>>> import sads
>>> geometry = sads.estimate_geometry("dit-2")
>>> geometry.spectrum().bands[0].width
4

The public names are listed in `__init__.pyi`. They are imported when they are first used: torch
takes seconds to load. What is logged goes to loggers below `sads`, which are silent until the
program that uses this package says where to.
"""

import logging

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

logging.getLogger(__name__).addHandler(logging.NullHandler())
