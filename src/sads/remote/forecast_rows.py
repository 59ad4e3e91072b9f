"""Rows of a forecast from the workers of an engine.

Networks are looked at before it is known whether they are needed: a forecast ends when its errors
are small enough, and rows behind the end are left out. So the result has the same bits as in one
process, with any number of workers.
"""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..directions.sets import DirectionSet
from ..errors import InputError
from ..execution.engines import Engine
from ..learning import Scene
from ..learning.forecast_method import Method
from ..learning.row_workers import Row, RowWorkers
from ..networks import ScoreFamily
from ..specs import DataSpec, DirectionsSpec, NetworkSpec
from ..specs.coercion import Data, Network
from .engine_calls import WITHOUT_ENGINE, EngineCalls, answer
from .forecast_request import ForecastRequest, scene_of
from .names import data_spec, directions_spec, network_spec


class EngineRows(RowWorkers):
    """Rows from the workers of an engine, each computed with one torch thread.

    Args:
        engine: `local`, `dask`, `dask:ADDRESS`, or an engine, which the caller closes.
        named: the names of networks, data and directions.
        steps: the planned steps of the training.
        workers: networks at once; by default the cores of this machine, or the scheduler's threads.
    """

    def __init__(
        self,
        engine: str | Engine,
        named: tuple[NetworkSpec, DataSpec, DirectionsSpec | None],
        steps: int,
        *,
        workers: int | None = None,
    ):
        self._calls = EngineCalls(forecast_row, engine, workers=workers)
        self._named, self._steps = named, steps

    def __enter__(self) -> "EngineRows":
        self._calls.__enter__()
        return self

    def close(self) -> None:
        self._calls.close()

    def rows(
        self, scene: Scene, method: Method, told: dict[str, Any], first: int, end: int
    ) -> Iterator[Row]:
        request = ForecastRequest.of(scene, method, told, self._named, self._steps)
        text = request.model_dump_json()
        calls = ((text, number) for number in range(first, end))
        for _, computed in self._calls.answers(calls):
            yield np.array(computed["row"])


_LOOKING = threading.Lock()  # forward-mode derivatives are not for several threads at once


def forecast_row(request: str, number: int) -> str:
    """The row of a network, or why there is none, as JSON; never raises."""

    def computed() -> dict[str, Any]:
        scene, method = scene_of(request)
        with _LOOKING:
            return {"row": method.row(scene, number).tolist()}

    return answer(computed)


def row_workers_for(
    engine: str | Engine | None,
    source: Network,
    family: ScoreFamily,
    data: Data,
    directions: str | DirectionSet | None,
    *,
    steps: int,
    workers: int | None = None,
    prediction: str | None = None,
) -> RowWorkers | None:
    """The row workers that the options ask for; None for this process.

    Raises:
        InputError: for networks, data or directions that have no name to make them from elsewhere.
    """
    if engine is None:
        if workers is not None:
            raise InputError(WITHOUT_ENGINE)
        return None
    named = network_spec(source, family, prediction), data_spec(data), directions_spec(directions)
    return EngineRows(engine, named, steps, workers=workers)
