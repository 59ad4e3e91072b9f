"""A forecast as a picture: what is taken up and what stays noisy, band by band."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...learning import Forecast
from ...learning.pilot import Pilot
from ..palette import BLUE, ORANGE

MOST_NAMED = 40


def draw_forecast(forecast: Forecast, title: str) -> Figure:
    """Drift and noise of every band with two standard errors, in the order of the directions."""
    bands = forecast.by_band()
    height = min(9.0, 2.2 + 0.22 * len(bands.labels))
    figure = Figure(figsize=(8.5, height), layout="constrained")
    left, right = np.asarray(figure.subplots(1, 2, sharey=True))
    _bars(left, bands.drift, bands.drift_error, BLUE, "taken up (drift)")
    what = "left after it (noise)" if forecast.method == Pilot.name else "stirred up (noise)"
    _bars(right, bands.noise, bands.noise_error, ORANGE, what)
    if len(bands.labels) <= MOST_NAMED:
        left.set_yticks(np.arange(len(bands.labels)), bands.labels, fontsize=7)
    if forecast.eigenvalues is not None:
        left.set_ylabel("eigenvectors, largest eigenvalue first")
    elif len(bands.labels) > MOST_NAMED:
        left.set_ylabel("direction")
    left.invert_yaxis()
    verdict = "" if forecast.has_order else ": no order beyond the errors"
    figure.suptitle(f"{title}{verdict}", fontsize=9)
    return figure


def _bars(axes: Axes, values: np.ndarray, errors: np.ndarray, colour: str, label: str) -> None:
    places = np.arange(len(values))
    axes.barh(places, values, xerr=2 * errors, color=colour, height=0.8, error_kw={"lw": 0.7})
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_xlabel(label)
