"""The parts of a summary, cheapest first.

| part        | what is done                                     |
|-------------|--------------------------------------------------|
| the network | one is built and called once                     |
| doctor      | all of its checks, two small geometries          |
| geometry    | at x = 0, with its error                         |
| forecast    | one step of fresh networks on small batches      |

Together they took 13 s of processor time for iddpm-16 (two threads), 32 s for iddpm-cifar10 (one).
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..directions import FOLDS
from ..directions.sets import ChannelMeans, MeansAndBands, frequencies
from ..doctor import diagnose
from ..errors import InputError, SadsError
from ..geometry import Geometry, estimate_geometry
from ..geometry.anisotropy import Place, effective_directions, place_of
from ..learning import Forecast, Recipe, Scene, forecast_training
from ..learning.one_step import OneStep
from ..learning.targets import goal_for
from ..learning.validity import kind_of
from ..networks import ScoreFamily
from .values import Summary

NETWORKS, FORECAST = 192, 12  # behind each geometry; behind the forecast
LARGE = 1_024  # samples with at least so many entries get small batches
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
    networks: int = NETWORKS,
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
        networks: untrained networks behind each geometry.
        batch_size: the batch size of the forecast step; by default 32, and 16 for large samples.
        forecast_networks: the number of untrained networks behind the forecast.
        seed: the seed of all draws.
        out: directory that keeps the geometry and the forecast; unfinished ones are continued.
        on_part: called after each part with what is known so far.

    Raises:
        SadsError: if networks cannot be made or called at all.
    """
    if networks < FOLDS:
        raise InputError(f"a summary needs at least {FOLDS} networks, got {networks}")
    started = time.monotonic()
    tell = on_part or (lambda summary: None)
    empty = Summary(family.name, family.shape, data.name, spelled=spelled, origin=origin)
    known = _built(empty, family, seed)
    parts = (
        ("doctor", lambda s: replace(s, diagnosis=diagnose(family, networks=networks, seed=seed))),
        ("geometry", lambda s: _measured(s, family, networks, seed, out)),
        (
            "forecast",
            lambda s: replace(
                s,
                forecast=forecast_first_step(
                    family,
                    data,
                    batch_size=batch_size,
                    networks=forecast_networks,
                    seed=seed,
                    out=out,
                ),
            ),
        ),
    )
    for name, add in parts:
        known = replace(known, seconds=time.monotonic() - started)
        tell(known)
        try:
            known = add(known)
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


def _measured(
    summary: Summary, family: ScoreFamily, networks: int, seed: int, out: Path | None
) -> Summary:
    geometry = estimate_geometry(
        family,
        networks=networks,
        seed=seed,
        zero_output="last",
        out=None if out is None else out / "geometry",
    )
    value, error = effective_directions(geometry)
    return replace(
        summary,
        effective=value,
        effective_error=error,
        networks=geometry.networks,
        places=_places(geometry),
    )


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
