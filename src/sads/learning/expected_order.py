"""The forecast for the directions that a monitor tells apart."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import InputError
from .forecast import Forecast


@dataclass(frozen=True, eq=False)
class ExpectedOrder:
    """How fast each group of directions was forecast to be learned.

    Attributes:
        drift: the forecast share of the target that is learned; the largest is learned first.
        error: its standard error.
        method: the method of the forecast.
        has_order: whether the drifts differ beyond their errors.
    """

    drift: Float[np.ndarray, " k"]
    error: Float[np.ndarray, " k"]
    method: str
    has_order: bool

    @property
    def places(self) -> Float[np.ndarray, " k"]:
        """The place of each group in the order, 1 for what is learned first."""
        return np.argsort(np.argsort(-self.drift)) + 1.0

    def summary(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "drift": self.drift.tolist(),
            "error": self.error.tolist(),
            "method": self.method,
            "has_order": self.has_order,
        }


def expected_order(forecast: Forecast, labels: tuple[str, ...]) -> ExpectedOrder:
    """The part of a forecast that is about a monitor's directions.

    Raises:
        InputError: if it tells other directions apart.
    """
    places = {label: number for number, label in enumerate(forecast.labels)}
    missing = [label for label in labels if label not in places]
    if missing:
        raise InputError(
            f"the forecast does not know {missing[0]!r}: forecast with the monitor's own directions"
            ", sads.forecast(network, data, directions=monitor.directions), and give it to "
            "monitor.expect"
        )
    order = [places[label] for label in labels]
    return ExpectedOrder(
        forecast.drift[order], forecast.drift_error[order], forecast.method, forecast.has_order
    )
