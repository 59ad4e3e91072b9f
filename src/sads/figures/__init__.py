"""The figures of the paper, and four beyond it, each with its claim tested on our own numbers.

A figure is an `Experiment` in a module of its own; figures 7, 8 and 10 show the same trainings and
share one. `catalogue` lists them, `run` makes them.
"""

from .catalogue import FIGURES, SCALES
from .run import make_figure, make_figures
from .verdict import Finding, Verdict

__all__ = ["FIGURES", "SCALES", "Finding", "Verdict", "make_figure", "make_figures"]
