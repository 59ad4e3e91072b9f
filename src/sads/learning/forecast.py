"""What training will do along each direction, told by untrained networks or a few steps.

Every method (`one_step`, `tangent_flow`, `pilot`) gives a row of numbers for each fresh network.
A forecast is their mean over networks, with standard errors over networks. The share of the target
that is taken up is a ratio of means, and its error is that of the delta method (`drift`).
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from ..foundation.data_frames import as_frame
from ..foundation.rendering import Shown
from ..inspection.jacobian_products import Way
from ..storage.files import writing
from .agreement import halves_agreement, stepped_up
from .drift import EQUAL, deviations, drift_error_of, drift_of
from .equal_directions import equality

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Forecast(Shown):
    """What training learns along each group of directions, and what stays noisy.

    Attributes:
        about: what was forecast: network, data, target, recipe, method, seed and draws.
        labels: names of the groups.
        widths: the number of directions in each.
        rows: <taken, eps*>, <eps*, eps*> and the noise per direction, of every network.
        way: how products with the Jacobian were computed.
        eigenvalues: the eigenvalues of the geometry that gave the directions; None for others.
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
        """The number of networks behind it."""
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
        """How well another forecast would agree on the order; NaN for fewer than three groups."""
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
        """The same forecast with the directions of each band taken together."""
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
