"""What callers may give: a string of the grammar, or the value that it stands for."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from ..data import Dataset
from ..data.selection import Selection
from ..diffusion import Predictor, Trained, read_trained, read_training
from ..directions.sets import DirectionSet
from ..errors import InputError
from ..geometry import Geometry, Probe, load_geometry
from ..geometry.subspace_choice import Request
from ..networks import ScoreFamily
from ..networks.family import DEFAULT_PATH
from ..networks.fresh_copies import Fresh, fresh_networks, unwrapped
from ..networks.stored_weights import load_weights
from ..path import DiffusionPath
from .data import DataSpec
from .directions import DirectionsSpec
from .grammar import parse_shape
from .networks import NetworkSpec
from .paths import path_named
from .probes import ProbeSpec
from .subspaces import SubspaceSpec

logger: logging.Logger = logging.getLogger(__name__)

Network = str | NetworkSpec | ScoreFamily | nn.Module | Callable[[], Any]
Shape = str | tuple[int, ...]
Data = str | DataSpec | Dataset | np.ndarray


def as_shape(source: Shape | None) -> tuple[int, ...] | None:
    """A shape, or the one that a string like `1x16x16` names."""
    return parse_shape(source) if isinstance(source, str) else source


def as_path(source: str | DiffusionPath) -> DiffusionPath:
    """A path from data to noise, or the one of a thousand levels that a name stands for."""
    return path_named(source) if isinstance(source, str) else source


def as_family(
    source: Network,
    *,
    shape: Shape | None = None,
    prediction: str | None = None,
    schedule: str | DiffusionPath | None = None,
) -> ScoreFamily:
    """A family, the one that a string names, or the one of a callable that makes modules.

    Args:
        source: the network; of a module that is built already, fresh ones are made like it.
        shape: shape of one sample; a family has its own, and another one is refused.
        prediction: what the modules predict; a family has its own, and another one is refused.
        schedule: the path from data to noise; that of the family or its string unless given.
    """
    size = as_shape(shape)
    path = None if schedule is None else as_path(schedule)
    if isinstance(source, ScoreFamily):
        _refuse_other(source, size, prediction)
        return source if path in (None, source.schedule) else replace(source, schedule=path)
    if isinstance(source, (str, NetworkSpec)):
        text = source if prediction is None else f"{source},prediction={prediction}"
        spec = NetworkSpec.parse(text) if isinstance(text, str) else text
        return spec.family(size, schedule=path)
    if size is None:
        raise InputError("a factory does not say its shape: pass shape=(C, H, W)")
    if isinstance(source, nn.Module):
        name, source = type(unwrapped(source)).__name__, as_fresh(source).factory
    else:
        name = getattr(source, "__name__", type(source).__name__)
    return ScoreFamily(source, size, path or DEFAULT_PATH, name, prediction=prediction)


def as_family_and_origin(
    source: Network,
    *,
    shape: Shape | None = None,
    prediction: str | None = None,
    schedule: str | DiffusionPath | None = None,
) -> tuple[ScoreFamily, str | None]:
    """A family, and where its networks come from if one was built already; see `Fresh.origin`."""
    if not isinstance(source, nn.Module):
        return as_family(source, shape=shape, prediction=prediction, schedule=schedule), None
    fresh = fresh_networks(source)
    made = as_family(fresh.factory, shape=shape, prediction=prediction, schedule=schedule)
    return replace(made, name=type(unwrapped(source)).__name__), fresh.origin


def as_fresh(module: nn.Module) -> Fresh:
    """How to make networks like one that is already built; warns if that is only measured."""
    fresh = fresh_networks(module)
    if fresh.origin == "measured":
        logger.warning(
            "%s does not say how to make another one: fresh networks get parameters drawn from "
            "the distributions of its own. Pass a function that makes networks to get their real "
            "initialisation.",
            type(unwrapped(module)).__name__,
        )
    return fresh


def _refuse_other(
    family: ScoreFamily, shape: tuple[int, ...] | None, prediction: str | None
) -> None:
    if shape not in (None, family.shape):
        own, other = ("x".join(map(str, s)) for s in (family.shape, shape or ()))
        raise InputError(
            f"{family.name} takes samples of {own}, not {other}: make a family of that shape"
        )
    if prediction not in (None, family.prediction):
        own = family.prediction or "what its modules' signature says"
        raise InputError(
            f"{family.name} predicts {own}, not {prediction}: make a family with that prediction"
        )


def as_geometry(source: str | Path | Geometry) -> Geometry:
    """A geometry, or the one in a directory."""
    return source if isinstance(source, Geometry) else load_geometry(source)


def as_dataset(
    source: Data,
    *,
    shape: tuple[int, ...] | None = None,
    split: str | None = None,
    drawn: int | None = None,
) -> Dataset:
    """A dataset, the one that a string names, or the one of an array of samples.

    Args:
        source: the data.
        shape: shape of one sample, if a string does not give it.
        split: the split to use where a string names none.
        drawn: how many samples of synthetic data to draw, where a string does not say it.
    """
    if isinstance(source, str):
        source = DataSpec.parse(source)
    if isinstance(source, DataSpec):
        return source.dataset(shape, split, count=drawn if source.synthetic else None)
    return Dataset(source, "data") if isinstance(source, np.ndarray) else source


def as_splits(source: Data, *, shape: tuple[int, ...] | None = None) -> tuple[Dataset, Dataset]:
    """A dataset to train on and one that is held out.

    Of a dataset or an array without splits, a fixed sixth is held out.
    """
    if isinstance(source, (str, DataSpec)):
        return (
            as_dataset(source, shape=shape, split="train"),
            as_dataset(source, shape=shape, split="held-out"),
        )
    whole = as_dataset(source)
    training, held_out = (
        replace(whole, samples=whole.samples[Selection(split).rows(len(whole), whole.name)])
        for split in ("train", "held-out")
    )
    return training, held_out


def as_dataset_pair(
    a: Data, b: Data, *, shape: tuple[int, ...] | None = None
) -> tuple[Dataset, Dataset]:
    """Two sets to compare; one without a shape of its own gets the shape of the other.

    Arrays are samples as they are. Everything else may have been trained on in part, so its
    held-out split is taken.
    """
    pair = [DataSpec.parse(source) if isinstance(source, str) else source for source in (a, b)]
    sets: dict[int, Dataset] = {}
    for place, source in sorted(enumerate(pair), key=lambda known: _needs_shape(known[1])):
        split = source.evaluation_split if isinstance(source, DataSpec) else None
        sets[place] = as_dataset(source, shape=shape, split=split)
        shape = shape or sets[place].shape
    return sets[0], sets[1]


def _needs_shape(source: DataSpec | Dataset | np.ndarray) -> bool:
    return isinstance(source, DataSpec) and not source.tells_shape


def as_probe(source: str | Probe, *, shape: tuple[int, ...]) -> Probe:
    """A probe, or the one that a string names."""
    return ProbeSpec.parse(source).probe(shape) if isinstance(source, str) else source


def as_subspace(source: str | None) -> Request:
    """The subspace that a string names; with None the estimate decides."""
    return None if source is None else SubspaceSpec.parse(source).subspace()


def as_directions(
    source: str | DirectionSet | None, *, shape: tuple[int, ...]
) -> DirectionSet | None:
    """A set of directions, or the one that a string names."""
    return DirectionsSpec.parse(source).directions(shape) if isinstance(source, str) else source


def as_trained(source: str | Path | Trained, *, network: Network | None = None) -> Trained:
    """A trained network, or the one in a directory that a training wrote.

    Args:
        source: the trained network or its directory.
        network: its architecture, if it was made by a callable, which has no name to find it by.
    """
    if isinstance(source, Trained):
        return source
    directory = Path(source)
    stored = read_training(directory)
    header = stored[0]
    family = as_family(network or header.network, shape=header.shape)
    return read_trained(directory, replace(family, schedule=header.path), stored)


Checkpoint = tuple[str | Path | Trained | Network, str | Path | None]


def two_sources(
    trained: str | Path | Trained | Network,
    other: str | Path | Trained | Network | None,
    weights: str | Path | Sequence[str | Path] | None,
) -> tuple[Checkpoint, Checkpoint | None]:
    """What is examined and what it is compared with, each with the file of its weights.

    A single file belongs to the first network. Two files and one network are two checkpoints of
    that network.
    """
    files = [weights] if isinstance(weights, (str, Path)) else list(weights or [])
    if len(files) > 2:
        raise InputError(f"two networks are compared, got {len(files)} files of weights")
    own, second = [*files, None, None][:2]
    beside = trained if other is None else other
    return (trained, own), None if other is None and second is None else (beside, second)


def as_predictor(
    source: str | Path | Trained | Network,
    weights: str | Path | None = None,
    *,
    shape: Shape | None = None,
    prediction: str | None = None,
    schedule: str | DiffusionPath | None = None,
    like: ScoreFamily | None = None,
) -> tuple[ScoreFamily, Predictor]:
    """A trained network as a function of noisy data, and the family it belongs to.

    Args:
        source: as in `as_trained`, or with weights as in `as_family`.
        weights: a safetensors file with the parameters of a network that was trained elsewhere,
            `FILE:PREFIX` where it holds them more than once.
        shape: as in `as_family`, for a network with weights.
        prediction: as in `as_family`, for a network with weights.
        schedule: as in `as_family`, for a network with weights.
        like: refuse another shape or schedule than this family's.
    """
    own, predict = _with_weights(source, weights, shape, prediction, schedule)
    if like is not None and (own.shape, own.schedule) != (like.shape, like.schedule):
        raise InputError(
            f"the trainings of {like.name} and {own.name} differ in shape or schedule: their "
            "risks are not comparable"
        )
    return own, predict


def _with_weights(
    source: str | Path | Trained | Network,
    weights: str | Path | None,
    shape: Shape | None,
    prediction: str | None,
    schedule: str | DiffusionPath | None,
) -> tuple[ScoreFamily, Predictor]:
    if weights is None:
        if not isinstance(source, (str, Path, Trained)):
            raise InputError("an untrained network has no risk of its own: pass its weights")
        trained = as_trained(source)
        return trained.family, trained.predict
    directory = isinstance(source, (str, Path)) and Path(source).is_dir()
    if directory or isinstance(source, (Path, Trained)):
        raise InputError(f"{source} has weights of its own: leave out weights, or name its network")
    family = as_family(source, shape=shape, prediction=prediction, schedule=schedule)
    member = family.member(0).eval().requires_grad_(False)
    load_weights(member, weights)
    return family, member
