"""Where the rows of a forecast are computed: one after the other in this process, or elsewhere.

A row depends on the scene and its number alone, so any worker may compute it, in any order; rows
are taken in the order of their numbers.
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from jaxtyping import Float

from .forecast_method import Method
from .forecast_setting import Scene

Row = Float[np.ndarray, "3 k"]


class RowWorkers(AbstractContextManager["RowWorkers"]):
    """The workers that compute the rows of a forecast, as a context around the whole run."""

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all work now."""
        return

    @abstractmethod
    def rows(
        self, scene: Scene, method: Method, told: dict[str, Any], first: int, end: int
    ) -> Iterator[Row]:
        """The rows of the networks from the first up to, but not including, the end.

        Args:
            scene: the architecture, its data, the directions and the recipe.
            method: how to forecast.
            told: what identifies the forecast.
            first: number of the first network.
            end: number of the one after the last.
        """


class Here(RowWorkers):
    """The process that the forecast runs in, one network after the other."""

    def rows(
        self, scene: Scene, method: Method, told: dict[str, Any], first: int, end: int
    ) -> Iterator[Row]:
        return (method.row(scene, number) for number in range(first, end))
