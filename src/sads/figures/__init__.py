"""The figures of the paper and further ones, each with its claim tested on our own numbers.

A figure is an `Experiment` in a module of its own; figures 7, 8 and 10 show the same trainings and
share one. `catalogue` lists them and `run` makes them. Some train nothing, see
`stored_experiments`.
"""

from ..errors import needs_figures

needs_figures()

from .catalogue import FIGURES, READINGS, SCALES  # noqa: E402 - not without matplotlib
from .run import make_figure, make_figures  # noqa: E402
from .verdict import Finding, Verdict  # noqa: E402

__all__ = ["FIGURES", "READINGS", "SCALES", "Finding", "Verdict", "make_figure", "make_figures"]
