"""What training will do along each direction, told by untrained networks or a few steps.

Every method (`one_step`, `tangent_flow`, `pilot`) gives a row of numbers for each fresh network.
A forecast is their mean over networks, with standard errors over networks; the share of the target
that is taken up is a ratio of means, its error that of the delta method. Networks are added until
the errors of the shares are small against their spread over the directions, or until 64 have shown
no order and even a thousand would not.

The row of a network depends on its number alone, so that a forecast that was interrupted goes on
where it was stored.
"""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from ..diffusion.training import explained
from ..directions.sets import DirectionSet, Eigenvectors
from ..errors import InputError
from ..foundation.data_frames import as_frame
from ..foundation.rendering import Shown
from ..inspection.jacobian_products import Way
from ..path import Schedule
from ..randomness import stream
from ..storage.files import writing
from .agreement import halves_agreement, stepped_up
from .equal_directions import equality
from .forecast_method import Method
from .forecast_setting import Scene
from .one_step import OneStep

if TYPE_CHECKING:
    import pandas

FEWEST, MOST = 8, 1_024  # networks
ENOUGH = 64  # networks after which a search for an order may be given up
ZERO = 1e-20  # the square of rounding: a target of this size an entry is none
EQUAL = 0.01  # p-value above which directions are said not to differ
Report = Callable[[int, float], None]


@dataclass(frozen=True, eq=False)
class Forecast(Shown):
    """What training takes up and what it leaves noisy along each group of directions.

    Attributes:
        about: what was forecast: network, data, target, recipe, method, seed and draws.
        labels: names of the groups.
        widths: directions in each.
        rows: <taken, eps*>, <eps*, eps*> and the noise per direction, of every network.
        way: how products with the Jacobian were computed.
        eigenvalues: of the geometry that gave the directions; None for other directions.
        bands: the band of each eigenvector, or the number of each group.

    >>> import sads
    >>> forecast = sads.forecast("cnn,width=4,depth=1", "gaussian", shape="1x4x4", networks=8)
    >>> forecast.networks, forecast.drift.shape == forecast.drift_error.shape
    (8, True)
    """

    about: dict[str, Any]
    labels: tuple[str, ...]
    widths: Int[np.ndarray, " k"]
    rows: Float[np.ndarray, "M 3 k"]
    way: Way
    eigenvalues: Float[np.ndarray, " k"] | None
    bands: Int[np.ndarray, " k"]

    @property
    def method(self) -> str:
        """`one step`, `tangent flow` or `pilot`."""
        return self.about["method"]

    @property
    def networks(self) -> int:
        """Networks behind it."""
        return len(self.rows)

    @cached_property
    def drift(self) -> Float[np.ndarray, " k"]:
        """The share of the target taken up.

        For one step it is per unit of the learning rate; for a tangent flow it is taken when half
        of the target is learned, and for a pilot after its first steps.
        """
        return drift_of(self.rows)

    @cached_property
    def drift_error(self) -> Float[np.ndarray, " k"]:
        """Its standard error."""
        return drift_error_of(self.rows)

    @cached_property
    def noise(self) -> Float[np.ndarray, " k"]:
        """What stays noisy, per direction.

        For one step and a tangent flow it is the variance between batches, per unit of the squared
        learning rate; for a pilot it is the risk that is left after its last step.
        """
        return self.rows[:, 2].mean(axis=0)

    @cached_property
    def noise_error(self) -> Float[np.ndarray, " k"]:
        """Its standard error."""
        return self.rows[:, 2].std(axis=0, ddof=1) / math.sqrt(self.networks)

    @cached_property
    def reliability(self) -> float:
        """How far another forecast would have the same order; NaN for fewer than three groups."""
        if len(self.labels) < 3:
            return math.nan
        return stepped_up(halves_agreement(self.rows, drift_of))

    @cached_property
    def p_value(self) -> float:
        """The p-value of the hypothesis that all drifts are equal."""
        return equality(deviations(self.rows))

    @property
    def has_order(self) -> bool:
        """Whether the drifts differ beyond their errors."""
        return len(self.labels) > 1 and self.p_value < EQUAL

    @cached_property
    def has_noisy_order(self) -> bool:
        """Whether the noises differ beyond their errors."""
        return len(self.labels) > 1 and equality(self.rows[:, 2]) < EQUAL

    def by_band(self) -> "Forecast":
        """The same with the directions of each band taken together."""
        numbers = np.unique(self.bands)
        if len(numbers) == len(self.labels):
            return self
        parts = [np.flatnonzero(self.bands == number) for number in numbers]
        widths = np.array([self.widths[part].sum() for part in parts])
        noise = self.rows[:, 2] * self.widths
        sums = [
            np.stack([rows[:, part].sum(axis=1) for part in parts], axis=1)
            for rows in (self.rows[:, 0], self.rows[:, 1], noise)
        ]
        labels = tuple(
            self.labels[part[0]]
            if len(part) == 1
            else f"{self.labels[part[0]]} to {self.labels[part[-1]]}"
            for part in parts
        )
        values = self.eigenvalues
        return replace(
            self,
            labels=labels,
            widths=widths,
            rows=np.stack([sums[0], sums[1], sums[2] / widths], axis=1),
            eigenvalues=None if values is None else np.array([values[p].mean() for p in parts]),
            bands=numbers,
        )

    def records(self) -> list[dict[str, Any]]:
        """One plain record for each group of directions."""
        eigenvalues = [None] * len(self.labels) if self.eigenvalues is None else self.eigenvalues
        return [
            {
                "direction": label,
                "width": int(width),
                "band": int(band),
                "eigenvalue": None if eigenvalue is None else float(eigenvalue),
                "drift": float(drift),
                "drift_error": float(drift_error),
                "noise": float(noise),
                "noise_error": float(noise_error),
            }
            for label, width, band, eigenvalue, drift, drift_error, noise, noise_error in zip(
                self.labels,
                self.widths,
                self.bands,
                eigenvalues,
                self.drift,
                self.drift_error,
                self.noise,
                self.noise_error,
                strict=True,
            )
        ]

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each group of directions; needs pandas."""
        return as_frame(self.records())

    def save(self, directory: str | Path) -> None:
        """Write `forecast.safetensors` into a directory, atomically."""
        from .forecast_artefact import write_forecast

        with writing(Path(directory)):
            write_forecast(Path(directory), self)


def forecast_training(
    scene: Scene,
    method: Method | None = None,
    *,
    networks: int | None = None,
    tolerance: float = 0.1,
    out: str | Path | None = None,
    about: dict[str, Any] | None = None,
    on_progress: Report | None = None,
) -> Forecast:
    """Forecast what training does, averaged over fresh networks.

    Args:
        scene: the architecture, its data, the directions and the recipe.
        method: how; one step unless given.
        networks: how many; without it, until the tolerance is reached.
        tolerance: root mean square error of the drifts over their spread at which to stop.
        out: directory for the result; an interrupted forecast is continued.
        about: what else is to be told of it, the names of network and data for example.
        on_progress: called with networks so far and that ratio, infinite where it is not known.
    """
    from .forecast_artefact import stored_rows, write_forecast

    if networks is not None and networks < FEWEST:
        raise InputError(f"at least {FEWEST} networks are needed for error bars, got {networks}")
    if not 0 < tolerance < math.inf:
        raise InputError(f"the tolerance is a positive number, got {tolerance}")
    method = method or OneStep()
    told = described(scene, method) | (about or {})
    place = None if out is None else Path(out)
    rows = [] if place is None else stored_rows(place, told)
    wanted = networks or MOST

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
            rows.append(method.row(scene, len(rows)))
        _require_target(scene, rows[-1])
        if on_progress is not None and len(rows) % FEWEST and len(rows) < wanted:
            on_progress(len(rows), math.inf)


def _require_target(scene: Scene, row: Float[np.ndarray, "3 k"]) -> None:
    """Refuse data of which nothing is to be learned, as of v on white noise."""
    if not row[1].sum() > ZERO * scene.family.size:
        raise InputError(
            f"the best prediction of {scene.prediction.name} on these data is zero everywhere, so "
            f"{scene.family.name} has nothing to learn: choose data that is not white noise"
        )


def described(scene: Scene, method: Method) -> dict[str, Any]:
    """What identifies a forecast; a stored one is continued only if all of it agrees."""
    from ..foundation.versions import DRAWS

    settings = {k: v for k, v in vars(method).items() if v is not None}
    path, predicted = scene.family.schedule, scene.prediction.name
    # Forecasts of noise on the linear schedule are told as they were before there were others.
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
    """A digest of data, target and directions: what they make of a fixed draw, to four digits."""
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


def drift_of(rows: Float[np.ndarray, "M 3 k"]) -> Float[np.ndarray, " k"]:
    """The drift that some of the networks show, a ratio of means."""
    return rows[:, 0].mean(axis=0) / rows[:, 1].mean(axis=0)


def deviations(rows: Float[np.ndarray, "M 3 k"]) -> Float[np.ndarray, "M k"]:
    """What each network adds to the drifts beside the share of the whole target."""
    common = rows[:, 0].sum() / rows[:, 1].sum()
    return (rows[:, 0] - common * rows[:, 1]) / rows[:, 1].mean(axis=0)


def drift_error_of(rows: Float[np.ndarray, "M 3 k"]) -> Float[np.ndarray, " k"]:
    """Its standard error, by the delta method."""
    rest = (rows[:, 0] - drift_of(rows) * rows[:, 1]) / rows[:, 1].mean(axis=0)
    return rest.std(axis=0, ddof=1) / math.sqrt(len(rows))


def hopeless(rows: Float[np.ndarray, "M 3 k"], tolerance: float) -> bool:
    """Whether nothing tells directions apart and no number of networks would reach the tolerance.

    Errors fall with the root of the number of networks; the spread of the drifts without them does
    not.
    """
    count = len(rows)
    if count < ENOUGH or equality(deviations(rows)) < EQUAL:
        return False
    error = float((drift_error_of(rows) ** 2).mean())
    spread = max(float(drift_of(rows).var()) - error, 0.0)
    last = error * count / MOST
    return last > tolerance**2 * (spread + last)


def error_to_spread(rows: Float[np.ndarray, "M 3 k"]) -> float:
    """The drifts' root mean square error over their spread; infinite where all are equal."""
    spread = float(drift_of(rows).std())
    error = math.sqrt(float((drift_error_of(rows) ** 2).mean()))
    return error / spread if spread > 0 else math.inf
