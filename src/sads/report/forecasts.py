"""Stored forecasts in a report: which network each belongs to, and how it is shown."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..learning import Forecast, load_forecast
from ..presentation.forecast import forecast_cells, meanings
from .subjects import Along, Subject


def with_forecasts(subjects: Sequence[Subject], directories: Sequence[str | Path]) -> list[Subject]:
    """The subjects, each with the stored forecast of its network.

    Raises:
        ArtefactError: if a directory holds no forecast.
        InputError: for a forecast of a network that is in no geometry, and for two of one network.
    """
    forecasted = list(subjects)
    for directory in dict.fromkeys(map(str, directories)):
        forecast = load_forecast(directory)
        own = [place for place, subject in enumerate(forecasted) if _is_of(forecast, subject)]
        if not own:
            raise InputError(
                f"the forecast in {directory} is of {forecast.about.get('network', 'a network')}, "
                "of which no geometry is given: name its geometry too, or leave the forecast out"
            )
        for place in own:
            if forecasted[place].forecast is not None:
                raise InputError(
                    f"{directory} is a second forecast of {forecast.about['network']}: choose one"
                )
            forecasted[place] = replace(
                forecasted[place], forecast=forecast, forecast_directory=directory
            )
    return forecasted


def _is_of(forecast: Forecast, subject: Subject) -> bool:
    plan = subject.main.geometry.plan
    about = forecast.about
    return (about.get("fingerprint"), about.get("shape")) == (plan.fingerprint, list(plan.shape))


def along_bands(subject: Subject) -> tuple[Along, ...]:
    """The forecast drift in each band of the geometry; empty for directions that are not its own.

    A forecast stores the eigenvalues of the geometry that gave its directions.
    """
    forecast, spectrum = subject.forecast, subject.main.geometry.spectrum()
    if forecast is None or forecast.eigenvalues is None:
        return ()
    same = forecast.eigenvalues.shape == spectrum.eigenvalues.shape and np.allclose(
        forecast.eigenvalues, spectrum.eigenvalues, rtol=1e-6
    )
    if not same:
        return ()
    bands = forecast.by_band()
    return tuple(
        Along(band.first, band.last, float(drift), float(error))
        for band, drift, error in zip(spectrum.bands, bands.drift, bands.drift_error, strict=True)
    )


def forecast_view(name: str, directory: str, forecast: Forecast) -> dict[str, Any]:
    """The table of a network's forecast, with a bar for each row."""
    header, rows, hidden, drifts = forecast_cells(forecast)
    low, high = min(0.0, float(drifts.min())), max(0.0, float(drifts.max()))
    span = (high - low) or 1.0
    starts = 100 * (np.minimum(drifts, 0.0) - low) / span
    widths = 100 * np.abs(drifts) / span
    shown = [
        {"cells": row, "start": f"{start:.2f}", "width": f"{max(width, 0.5):.2f}"}
        for row, start, width in zip(rows, starts, widths, strict=True)
    ]
    more = "" if not hidden else f"{hidden:,} more between; sads forecast --json has them."
    return {
        "name": name,
        "directory": directory,
        "header": header,
        "rows": shown,
        "hidden": more,
        "legend": "; ".join(meanings(forecast)) + ".",
    }
