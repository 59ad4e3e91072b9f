"""The parts of a summary, cheapest first.

| part        | what is done                                     |
|-------------|--------------------------------------------------|
| the network | one is built and called once                     |
| geometry    | at x = 0, with its error                         |
| doctor      | all of its checks, one more small geometry       |
| forecast    | one step of fresh networks on small batches      |

With two threads all took 8 s for iddpm-16, 18 s for iddpm-cifar10 and 46 s for a UNet2DModel of
4.4 million parameters at 3x32x32.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..directions import FOLDS
from ..directions.sets import ChannelMeans, MeansAndBands, frequencies
from ..doctor import diagnose
from ..errors import InputError, SadsError
from ..geometry import Geometry, estimate_geometry
from ..geometry.anisotropy import Place, effective_directions, place_of
from ..geometry.subspace_choice import QUICK
from ..learning import Forecast, Recipe, Scene, forecast_training
from ..learning.one_step import OneStep
from ..learning.targets import goal_for
from ..learning.validity import kind_of
from ..networks import ScoreFamily
from .values import Summary

NETWORKS, FEW, FORECAST = 192, 96, 12  # behind each geometry, also of large samples; a forecast
LARGE = 1_024  # samples with at least so many entries get fewer networks and small batches
LOWEST = 0.1  # share of the frequencies that count as low, without the constant
MOST_COSINES = 64  # low frequencies of a channel that are used
BANDS = 8

OnPart = Callable[[Summary], None]


def summarise(
    family: ScoreFamily,
    data: Dataset,
    *,
    spelled: bool = False,
    origin: str | None = None,
    networks: int | None = None,
    batch_size: int | None = None,
    forecast_networks: int = FORECAST,
    seed: int = 0,
    out: Path | None = None,
    on_part: OnPart | None = None,
) -> Summary:
    """Everything about an architecture that a few seconds can tell.

    Args:
        family: the architecture.
        data: the data that a training would learn.
        spelled: whether commands accept the architecture's name.
        origin: where fresh networks come from, if the caller gave a built one.
        networks: untrained networks behind each geometry; 192, and 96 for large samples, unless
            given.
        batch_size: the batch size of the forecast step; by default 32, and 16 for large samples.
        forecast_networks: the number of untrained networks behind the forecast.
        seed: the seed of all draws.
        out: directory that keeps the geometry and the forecast; unfinished ones are continued.
        on_part: called after each part with what is known so far.

    Raises:
        SadsError: if networks cannot be made or called at all.
    """
    if networks is None:
        networks = NETWORKS if family.size < LARGE else FEW
    if networks < FOLDS:
        raise InputError(f"a summary needs at least {FOLDS} networks, got {networks}")
    started = time.monotonic()
    tell = on_part or (lambda summary: None)
    empty = Summary(family.name, family.shape, data.name, spelled=spelled, origin=origin)
    known = _built(empty, family, seed)
    geometry = _AtZero(family, networks, seed, None if out is None else out / "geometry")
    parts = (
        ("geometry", geometry.told),
        (
            "doctor",
            lambda: {
                "diagnosis": diagnose(family, networks=networks, seed=seed, at_zero=geometry.known)
            },
        ),
        (
            "forecast",
            lambda: {
                "forecast": forecast_first_step(
                    family,
                    data,
                    batch_size=batch_size,
                    networks=forecast_networks,
                    seed=seed,
                    out=out,
                )
            },
        ),
    )
    for name, added in parts:
        known = replace(known, seconds=time.monotonic() - started)
        tell(known)
        try:
            known = replace(known, **added())
        except SadsError as error:
            known = replace(known, untold=(*known.untold, (name, str(error))))
    known = replace(known, seconds=time.monotonic() - started)
    tell(known)
    return known


def _built(summary: Summary, family: ScoreFamily, seed: int) -> Summary:
    network = family.member(seed)
    assumptions = family.assumptions(network)  # first: lazy parameters are made by the first call
    sizes = [(p.numel(), p.requires_grad) for p in network.parameters()]
    return replace(
        summary,
        parameters=sum(size for size, _ in sizes),
        trained=sum(size for size, moves in sizes if moves),
        assumptions=assumptions,
    )


@dataclass
class _AtZero:
    """The geometry at x = 0, which the doctor needs too; `known` once it is estimated."""

    family: ScoreFamily
    networks: int
    seed: int
    out: Path | None
    known: Geometry | None = None

    def told(self) -> dict[str, Any]:
        """What the table says of it."""
        self.known = geometry = estimate_geometry(
            self.family,
            networks=self.networks,
            seed=self.seed,
            zero_output="last",
            subspace=QUICK,
            out=self.out,
        )
        value, error = effective_directions(geometry)
        return {
            "effective": value,
            "effective_error": error,
            "networks": geometry.networks,
            "places": _places(geometry),
        }


def _places(geometry: Geometry) -> tuple[tuple[str, Place], ...]:
    """Where the means of the channels and the low frequencies lie."""
    means = ChannelMeans(geometry.shape)
    columns = _mean_columns(geometry.shape)
    places = [(label, place_of(geometry, columns[:, [c]])) for c, label in enumerate(means.labels)]
    low = _low_cosines(geometry.shape)
    if low.shape[1]:
        places.append(("low frequencies", place_of(geometry, low)))
    return tuple(places)


def _mean_columns(shape: tuple[int, ...]) -> Float[np.ndarray, "D c"]:
    channels = shape[0] if len(shape) > 1 else 1
    places = int(np.prod(shape)) // channels
    return np.kron(np.eye(channels), np.full((places, 1), places**-0.5))


def _low_cosines(shape: tuple[int, ...]) -> Float[np.ndarray, "D q"]:
    """The cosines of the lowest tenth of the frequencies of every channel, without the constant."""
    from scipy.fft import idctn

    spatial = shape[1:] if len(shape) > 1 else shape
    channels, places = (shape[0] if len(shape) > 1 else 1), int(np.prod(spatial))
    count = min(MOST_COSINES, round(LOWEST * places))
    order = frequencies(spatial).flatten().argsort(kind="stable")[1 : 1 + count]
    pure = np.zeros((len(order), places))
    pure[np.arange(len(order)), order] = 1.0
    images = pure.reshape(-1, *spatial)
    cosines = np.asarray(idctn(images, axes=range(1, images.ndim), norm="ortho"))
    return np.kron(np.eye(channels), cosines.reshape(len(order), -1).T)


def forecast_first_step(
    family: ScoreFamily,
    data: Dataset,
    *,
    batch_size: int | None = None,
    networks: int = FORECAST,
    seed: int = 0,
    out: Path | None = None,
) -> Forecast:
    """One step along the means of the channels and bands of frequency, on small batches.

    Args:
        family: the architecture.
        data: what a training would learn.
        batch_size: of the step; 32, and 16 for large samples, unless given.
        networks: untrained networks to look at.
        seed: of all draws.
        out: directory in whose folder `forecast` it is kept; an unfinished one is continued.
    """
    goal = goal_for(data)
    size = batch_size or (32 if family.size < LARGE else 16)
    recipe = Recipe(batch_size=size)
    directions = MeansAndBands(family.shape, BANDS)
    return forecast_training(
        Scene(family, goal.reference, goal.target, directions, recipe, seed),
        OneStep(points=size),
        networks=networks,
        out=None if out is None else out / "forecast",
        about={
            "data": data.name,
            "target": goal.kind,
            "kind": kind_of(family.member(seed)),
            "basis": "cosines",
        },
    )
