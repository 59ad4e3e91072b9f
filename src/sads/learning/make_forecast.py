"""Making a forecast: networks are added until its errors are small enough, or there is no order.

It ends when the errors of the shares are small against their spread over the directions, or when
64 networks have shown no order and a thousand would not show one either. The row of a network
depends on its number alone, so an interrupted forecast continues where it was stored.
"""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..diffusion.training import explained
from ..directions.sets import DirectionSet, Eigenvectors
from ..errors import InputError
from ..foundation.versions import DRAWS
from ..path import Schedule
from ..randomness import stream
from .drift import MOST, error_to_spread, hopeless
from .forecast import Forecast
from .forecast_artefact import stored_rows, write_forecast
from .forecast_method import Method
from .forecast_setting import Scene
from .one_step import OneStep
from .row_workers import Here, RowWorkers

FEWEST = 8  # networks, and as many between two looks at the errors
ZERO = 1e-20  # the square of rounding: a target whose entries are this small is zero
Report = Callable[[int, float], None]


def forecast_training(
    scene: Scene,
    method: Method | None = None,
    *,
    networks: int | None = None,
    tolerance: float = 0.1,
    out: str | Path | None = None,
    about: dict[str, Any] | None = None,
    workers: RowWorkers | None = None,
    on_progress: Report | None = None,
) -> Forecast:
    """Forecast what training does, averaged over fresh networks.

    Args:
        scene: the architecture, its data, the directions and the recipe.
        method: how to forecast; one step unless given.
        networks: the number of networks; unless given, they are added until the tolerance is
            reached.
        tolerance: root mean square error of the drifts over their spread at which to stop.
        out: directory for the result; an interrupted forecast is continued.
        about: what else to store with it, for example the name of the data.
        workers: who looks at the networks; this process unless given.
        on_progress: called with the networks so far and that ratio, which is infinite until it is
            known.
    """
    if networks is not None and networks < FEWEST:
        raise InputError(f"at least {FEWEST} networks are needed for error bars, got {networks}")
    if not 0 < tolerance < math.inf:
        raise InputError(f"the tolerance is a positive number, got {tolerance}")
    method = method or OneStep()
    told = described(scene, method) | (about or {})
    place = None if out is None else Path(out)
    rows = [] if place is None else stored_rows(place, told)
    wanted = networks or MOST
    coming = (workers or Here()).rows(scene, method, told, len(rows), wanted)

    def made() -> Forecast:
        return _forecast(scene, told, np.stack(rows[:wanted]))

    while True:
        looked = len(rows) >= min(wanted, FEWEST) and (
            len(rows) % FEWEST == 0 or len(rows) >= wanted
        )
        if looked:
            ratio = error_to_spread(np.stack(rows))
            if on_progress is not None:
                on_progress(len(rows), ratio)
            if place is not None:
                write_forecast(place, made())
            enough = ratio <= tolerance or hopeless(np.stack(rows), tolerance)
            if len(rows) >= wanted or (networks is None and enough):
                return made()
        with explained(scene.family.name, "a forecast"):
            rows.append(next(coming))
        _require_target(scene, rows[-1])
        if on_progress is not None and len(rows) % FEWEST and len(rows) < wanted:
            on_progress(len(rows), math.inf)


def _require_target(scene: Scene, row: Float[np.ndarray, "3 k"]) -> None:
    """Refuse data from which there is nothing to learn, such as v on white noise."""
    if not row[1].sum() > ZERO * scene.family.size:
        raise InputError(
            f"the best prediction of {scene.prediction.name} on these data is zero everywhere, so "
            f"{scene.family.name} has nothing to learn: choose data that is not white noise"
        )


def described(scene: Scene, method: Method) -> dict[str, Any]:
    """What identifies a forecast; a stored one is continued only if all of it agrees."""
    settings = {k: v for k, v in vars(method).items() if v is not None}
    path, predicted = scene.family.schedule, scene.prediction.name
    # Forecasts of noise on the linear schedule keep the description they had before other paths
    # and predictions were added.
    paths = {} if path == Schedule() else {"path": [path.kind, path.steps, dict(path.parameters)]}
    predictions = {} if predicted == "eps" else {"predicts": predicted}
    return {
        "network": scene.family.name,
        "fingerprint": scene.family.fingerprint,
        "shape": list(scene.family.shape),
        "method": method.name,
        "settings": settings,
        "recipe": scene.recipe.summary(),
        "content": _content(scene),
        "seed": scene.seed,
        "draws": DRAWS,
        **paths,
        **predictions,
    }


def _content(scene: Scene) -> str:
    """A digest of data, target and directions: their values at a fixed draw, to four digits."""
    generator = stream(0, "what identifies data and directions")
    sample = scene.reference.draw(1, generator)
    optimum = scene.target.optimal_noise(sample, np.array([0.5]))
    coefficients = scene.directions.coefficients(np.concatenate([sample, optimum]))
    numbers = " ".join(f"{value:.3e}" for value in coefficients.flatten()[:10_000])
    text = json.dumps([scene.directions.labels, numbers])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _forecast(scene: Scene, about: dict[str, Any], rows: Float[np.ndarray, "M 3 k"]) -> Forecast:
    directions = scene.directions
    return Forecast(
        about=about,
        labels=directions.labels,
        widths=directions.widths,
        rows=rows,
        way=scene.way,
        eigenvalues=(
            directions.spectrum.eigenvalues if isinstance(directions, Eigenvectors) else None
        ),
        bands=_bands(directions),
    )


def _bands(directions: DirectionSet) -> Int[np.ndarray, " k"]:
    if not isinstance(directions, Eigenvectors):
        return np.arange(len(directions.widths))
    bands = directions.spectrum.bands
    return np.repeat(np.arange(len(bands)), [band.width for band in bands])
