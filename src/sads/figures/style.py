"""How figures look: one palette, one font size, two widths, and the same bytes every time."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ..statistics.means import mean_and_error

COLUMN, PAGE = 3.4, 7.0  # inches: one column, both columns of a page
# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, YELLOW, GREY, BLACK = "#56B4E9", "#E69F00", "#777777", "#222222"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
SIGNED, MAGNITUDE = "RdBu_r", "magma"  # colour maps for values around zero, and above zero
_SETTINGS: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=CYCLE),
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "svg.hashsalt": "sads",
}


@contextmanager
def style() -> Iterator[None]:
    """A context in which all figures are drawn and saved in one style."""
    with mpl.rc_context(_SETTINGS):
        yield


def sheet(width: float, height: float) -> Figure:
    """An empty figure; sizes are in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def show(axes: Axes, values: np.ndarray, *, signed: bool = True) -> None:
    """A picture without ticks, of values around zero or above it."""
    top = float(np.abs(values).max()) or 1.0
    axes.imshow(values, cmap=SIGNED if signed else MAGNITUDE, vmin=-top if signed else 0, vmax=top)
    bare(axes)


def error_bars(
    axes: Axes, x: Sequence[float] | np.ndarray, values: Iterable[Sequence[float]], **style: Any
) -> None:
    """Mean and standard error of the values at each x; a single value has no error."""
    pairs = [mean_and_error(own) for own in values]
    means, errors = [mean for mean, _ in pairs], [error or 0.0 for _, error in pairs]
    axes.errorbar(x, means, errors, **({"marker": "o", "markersize": 3} | style))


def logarithmic(axes: Axes) -> None:
    """A logarithmic vertical axis whose plain numbers stay apart, over one decade or over many."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    few = high < 100 * low
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def legend_below(figure: FigureBase, axes: Axes) -> None:
    """The lines of one panel, which are those of all, named below them where nothing is covered."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=6)


def bare(axes: Axes) -> None:
    """Remove ticks and frame."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
