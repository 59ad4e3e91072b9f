"""Trainings in a report: followed by a monitor, or finished."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..learning import load_record, measure_risk, reference_for
from ..presentation.numbers import sizes, with_error
from ..presentation.risk import risk_sentences
from ..specs.coercion import as_dataset, as_trained
from .training_view import training_view

TOLERANCE = 0.05  # relative error of a risk in a report


@dataclass(frozen=True)
class RiskShown:
    """The risk of one trained network.

    Attributes:
        directory: the directory of its training.
        sentences: the main results.
        rows: group of directions, their number, and the risk along one of them.
    """

    directory: str
    sentences: list[str]
    rows: list[tuple[str, str, str]]


def followed(directories: Sequence[str | Path], shape: tuple[int, ...]) -> list[dict[str, Any]]:
    """The records of monitors, each with its directory.

    Raises:
        SadsError: if there is no monitor, or one of another shape.
    """
    views = []
    for directory in directories:
        record = load_record(directory)
        if record.shape != shape:
            raise InputError(
                f"the monitor in {directory} is of samples {sizes(record.shape)}, the geometries "
                f"are of {sizes(shape)}"
            )
        views.append({"directory": str(directory), "training": training_view(record)})
    return views


def risk_shown(directory: str | Path, data: str) -> RiskShown:
    """The risk of a stored training on held-out data, by bands of frequency.

    Raises:
        SadsError: if there is no training, or the data do not fit.
    """
    trained = as_trained(directory)
    family = trained.family
    risk = measure_risk(
        trained.predict,
        reference_for(as_dataset(data, shape=family.shape, split="held-out")),
        family.schedule,
        family.shape,
        tolerance=TOLERANCE,
    )
    rows = [
        (label, f"{width:,}", with_error(float(value / width), float(error / width), 3))
        for label, width, value, error in zip(
            risk.labels, risk.widths, risk.by_direction, risk.by_direction_error, strict=True
        )
    ]
    return RiskShown(str(directory), risk_sentences(risk), rows)
