"""The drifts that the rows of a forecast show, their errors, and whether more networks would help.

The rows of M networks are <taken, eps*>, <eps*, eps*> and the noise of each of k groups; see
`forecast_method`.
"""

import math

import numpy as np
from jaxtyping import Float

from .equal_directions import equality

MOST = 1_024  # networks of a forecast
ENOUGH = 64  # networks after which a search for an order may be given up
EQUAL = 0.01  # p-value above which directions are said not to differ


def drift_of(rows: Float[np.ndarray, "M 3 k"]) -> Float[np.ndarray, " k"]:
    """The drift that some of the networks show, a ratio of means."""
    return rows[:, 0].mean(axis=0) / rows[:, 1].mean(axis=0)


def deviations(rows: Float[np.ndarray, "M 3 k"]) -> Float[np.ndarray, "M k"]:
    """How each network's drifts differ from its share of the whole target."""
    common = rows[:, 0].sum() / rows[:, 1].sum()
    return (rows[:, 0] - common * rows[:, 1]) / rows[:, 1].mean(axis=0)


def drift_error_of(rows: Float[np.ndarray, "M 3 k"]) -> Float[np.ndarray, " k"]:
    """The standard error of the drift, by the delta method."""
    rest = (rows[:, 0] - drift_of(rows) * rows[:, 1]) / rows[:, 1].mean(axis=0)
    return rest.std(axis=0, ddof=1) / math.sqrt(len(rows))


def hopeless(rows: Float[np.ndarray, "M 3 k"], tolerance: float) -> bool:
    """Whether the directions do not differ and no number of networks would reach the tolerance.

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
