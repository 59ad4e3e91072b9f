"""What a network predicts: a mix of the clean sample and the noise, so an affine map of the noise.

With x = a x_0 + b eps, an output p x_0 + q eps determines the noise by

    eps = c x + s output,      c = -p / (a q - b p),      s = a / (a q - b p).

| prediction | output            | c             | s             |
|------------|-------------------|---------------|---------------|
| `eps`      | eps               | 0             | 1             |
| `v`        | a eps - b x_0     | b / (a^2+b^2) | a / (a^2+b^2) |
| `x0`       | x_0               | 1 / b         | -a / b        |
| `flow`     | eps - x_0         | 1 / (a + b)   | a / (a + b)   |
| `score`    | -eps / b          | 0             | -b            |

Where time runs from noise to data (`reverse`), the velocity of a flow is x_0 - eps.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ..errors import InputError, expected_one_of
from .base import DiffusionPath, Table


class Prediction(ABC):
    """What a network predicts.

    Attributes:
        name: its name in the grammar and in artefacts.
    """

    name: ClassVar[str]

    @abstractmethod
    def mix(self, path: DiffusionPath) -> tuple[Table, Table]:
        """The coefficients p and q of the output p x_0 + q eps at each level."""

    @abstractmethod
    def noise_from(self, path: DiffusionPath) -> tuple[Table, Table]:
        """The coefficients c and s of eps = c x + s output at each level, unchecked."""

    def conversion(self, path: DiffusionPath) -> tuple[Table, Table]:
        """The coefficients c and s, checked at every level.

        Raises:
            InputError: if the output does not determine the noise at some level.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            constant, scale = self.noise_from(path)
        bad = ~(np.isfinite(constant) & np.isfinite(scale) & (scale != 0))
        if bad.any():
            level = int(np.flatnonzero(bad)[0])
            lacks = "signal" if path.signal[level] == 0 else "noise"
            raise InputError(
                f"a prediction of {self.name} does not determine the noise at level {level} of "
                f"{path.steps} of the path {path.kind!r}, which has no {lacks}: leave that level "
                "out of the path, or predict something else"
            )
        return constant, scale


class Noise(Prediction):
    """The noise itself."""

    name = "eps"

    def mix(self, path: DiffusionPath) -> tuple[Table, Table]:
        return np.zeros(path.steps), np.ones(path.steps)

    def noise_from(self, path: DiffusionPath) -> tuple[Table, Table]:
        return np.zeros(path.steps), np.ones(path.steps)


class Velocity(Prediction):
    """The velocity v = a eps - b x_0 of variance-preserving diffusion."""

    name = "v"

    def mix(self, path: DiffusionPath) -> tuple[Table, Table]:
        return -path.noise, path.signal

    def noise_from(self, path: DiffusionPath) -> tuple[Table, Table]:
        return path.noise / path.power, path.signal / path.power


class Clean(Prediction):
    """The clean sample."""

    name = "x0"

    def mix(self, path: DiffusionPath) -> tuple[Table, Table]:
        return np.ones(path.steps), np.zeros(path.steps)

    def noise_from(self, path: DiffusionPath) -> tuple[Table, Table]:
        return 1 / path.noise, -path.contrast


@dataclass(frozen=True)
class Flow(Prediction):
    """The velocity of a flow, eps - x_0, or x_0 - eps where time runs from noise to data."""

    reverse: bool = False
    name = "flow"

    @property
    def sign(self) -> float:
        return -1.0 if self.reverse else 1.0

    def mix(self, path: DiffusionPath) -> tuple[Table, Table]:
        return np.full(path.steps, -self.sign), np.full(path.steps, self.sign)

    def noise_from(self, path: DiffusionPath) -> tuple[Table, Table]:
        total = path.signal + path.noise
        return 1 / total, self.sign * path.signal / total


class Score(Prediction):
    """The score of the noisy samples."""

    name = "score"

    def mix(self, path: DiffusionPath) -> tuple[Table, Table]:
        return np.zeros(path.steps), -1 / path.noise

    def noise_from(self, path: DiffusionPath) -> tuple[Table, Table]:
        return np.zeros(path.steps), -path.noise


PREDICTIONS: Mapping[str, Prediction] = MappingProxyType(
    {p.name: p for p in (Noise(), Velocity(), Clean(), Flow(), Score())}
)


def prediction_named(name: str, *, reverse: bool = False) -> Prediction:
    """The prediction of a name.

    Args:
        name: one of `PREDICTIONS`.
        reverse: whether time runs from noise to data.

    Raises:
        InputError: if there is no such prediction.
    """
    if name not in PREDICTIONS:
        raise InputError(f"unknown prediction {name!r}{expected_one_of(name, PREDICTIONS)}")
    return Flow(reverse) if name == Flow.name else PREDICTIONS[name]
