"""The interface of all forecasts: one row of numbers for one fresh network.

Methods differ in cost and in what they see. For the network with a given number, each gives
three values in every group of directions,

    <taken, eps*>,      <eps*, eps*>,      noise per direction,

from which `Forecast` makes the share of the target that is taken up, with errors over networks.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from .forecast_setting import Scene


class Method(ABC):
    """A way to forecast what training does along each direction."""

    name: ClassVar[str]

    @abstractmethod
    def row(self, scene: Scene, number: int) -> Float[np.ndarray, "3 k"]:
        """The row of the network with this number; it depends on scene and number alone."""
