"""How fast a first training step learns along each group of directions, from a stored forecast.

The paces are shares of the median pace. The mean of one channel is a single number in each network,
so its error is large; the means of all channels are taken together, as if their errors were
independent.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

MEAN = "mean of channel"
MEANS = "means of the channels"
ALL = "all"


@dataclass(frozen=True)
class Pace:
    """How fast one group is learned.

    Attributes:
        label: name of the group.
        value: share of the median pace; per unit of the learning rate if nothing is learned on
            the whole.
        error: its standard error, without that of the median.
    """

    label: str
    value: float
    error: float


@dataclass(frozen=True)
class LearningOrder:
    """What a forecast says about what is learned last.

    Attributes:
        paces: the paces of all groups, the slowest first.
        p_value: the p-value of the hypothesis that all paces are equal.
        has_order: whether they differ beyond their errors.
        relative: whether the paces are shares of the median.
        precision: the typical error of a pace, as the median of all groups.
        networks: the number of networks behind them.
        right: the number of forecasts of this kind that were right.
        of: the number of forecasts of this kind.
        kind: the kind of networks in that record.
    """

    paces: tuple[Pace, ...]
    p_value: float
    has_order: bool
    relative: bool
    precision: float
    networks: int
    right: int
    of: int
    kind: str


def learning_order(forecast: dict[str, Any]) -> LearningOrder:
    """The order in a forecast as `sads summary --json` prints it."""
    groups = _groups(forecast["directions"])
    values = np.array([group.value for group in groups])
    errors = np.array([group.error for group in groups])
    median = float(np.median(values))
    relative = median > 2 * float(np.median(errors))
    unit = median if relative else 1.0
    early = (forecast.get("validity") or {}).get("early") or {}
    return LearningOrder(
        paces=tuple(
            Pace(groups[i].label, float(values[i]) / unit, float(errors[i]) / unit)
            for i in np.argsort(values, kind="stable")
        ),
        p_value=forecast["p_value"],
        has_order=forecast["has_order"],
        relative=relative,
        precision=float(np.median(errors)) / unit,
        networks=forecast["networks"],
        right=early.get("right", 0),
        of=early.get("with_order", 0),
        kind=early.get("kind", ALL),
    )


def _groups(records: list[dict[str, Any]]) -> list[Pace]:
    """Drifts of all groups, those of the channels' means as one."""
    means = [one for one in records if one["direction"].startswith(MEAN)]
    rest = [one for one in records if not one["direction"].startswith(MEAN)]
    groups = [Pace(one["direction"], one["drift"], one["drift_error"]) for one in rest]
    if len(means) > 1:
        errors = math.hypot(*(one["drift_error"] for one in means)) / len(means)
        mean = math.fsum(one["drift"] for one in means) / len(means)
        groups.insert(0, Pace(MEANS, mean, errors))
    elif means:
        groups.insert(0, Pace("mean of the channel", means[0]["drift"], means[0]["drift_error"]))
    return groups
