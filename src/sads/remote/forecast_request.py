"""The request for a row of a forecast: everything that decides it, as JSON."""

import json
import threading
from functools import lru_cache
from typing import Any

import numpy as np

from ..learning import Recipe, Scene
from ..learning.forecast_from_data import setting
from ..learning.forecast_method import Method
from ..learning.make_forecast import described
from ..path import path_of
from ..specs import DataSpec, DirectionsSpec, NetworkSpec
from ..specs.coercion import as_dataset
from .request import Request, SetupError, seen_here


class ForecastRequest(Request, frozen=True):
    """The rows of one forecast.

    Attributes:
        network: the networks.
        shape: shape of one sample.
        path: the path from data to noise: its kind, its levels, its parameters.
        data: the data.
        directions: the directions; None for bands of frequency.
        recipe: the training that is forecast, field by field.
        method: the name of the method.
        steps: the planned steps of the training.
        seed: the seed of all draws.
        told: what identifies the forecast; a worker has to come to the same.
    """

    network: NetworkSpec
    shape: tuple[int, ...]
    path: tuple[str, int, dict[str, float]]
    data: DataSpec
    directions: DirectionsSpec | None
    recipe: dict[str, Any]
    method: str
    steps: int
    seed: int
    told: dict[str, Any]

    @classmethod
    def of(
        cls,
        scene: Scene,
        method: Method,
        told: dict[str, Any],
        named: tuple[NetworkSpec, DataSpec, DirectionsSpec | None],
        steps: int,
    ) -> "ForecastRequest":
        """The request as this process sees it."""
        network, data, directions = named
        path = scene.family.schedule
        recipe = {
            field: value.tolist() if isinstance(value, np.ndarray) else value
            for field, value in vars(scene.recipe).items()
        }
        return cls(
            network=network,
            shape=scene.family.shape,
            path=(path.kind, path.steps, dict(path.parameters)),
            data=data,
            directions=directions,
            recipe=recipe,
            method=method.name,
            steps=steps,
            seed=scene.seed,
            told=told,
            **seen_here(*(spec for spec in named if spec is not None)),
        )


_PREPARING = threading.Lock()  # a worker may have several threads


def scene_of(text: str) -> tuple[Scene, Method]:
    """The scene and the method that a request asks for, given as JSON; the last one is cached.

    Raises:
        SetupError: if this worker would compute something else.
    """
    with _PREPARING:
        return _scene(text)


@lru_cache(maxsize=1)
def _scene(text: str) -> tuple[Scene, Method]:
    request = ForecastRequest.model_validate_json(text)
    named = request.network, request.data, request.directions
    request.require(*(spec for spec in named if spec is not None))
    told_apart = None
    if request.directions is not None:
        told_apart = request.directions.seen_from(request.root).directions(request.shape)
    family = request.network.seen_from(request.root).family(
        request.shape, schedule=path_of(*request.path)
    )
    data = request.data.seen_from(request.root)
    scene, method, _ = setting(
        family,
        as_dataset(data, shape=family.shape, split="train", drawn=1),
        told_apart,
        _recipe(request.recipe),
        steps=request.steps,
        method=request.method,
        seed=request.seed,
    )
    here = json.loads(json.dumps(described(scene, method)))
    different = [name for name in here if name != "network" and here[name] != request.told[name]]
    if different:
        raise SetupError(f"{family.name} is not the same there: {', '.join(different)} differ")
    return scene, method


def _recipe(fields: dict[str, Any]) -> Recipe:
    values: dict[str, Any] = {
        name: np.array(value) if isinstance(value, list) else value
        for name, value in fields.items()
    }
    return Recipe(**values)
