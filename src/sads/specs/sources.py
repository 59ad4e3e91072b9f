"""What callers may give: a string of the grammar, or the value that it stands for."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data import Dataset
from ..diffusion import Predictor, Trained, read_trained, read_training, stored_schedule
from ..directions.sets import DirectionSet
from ..errors import InputError
from ..geometry import Geometry, Probe, load_geometry
from ..networks import ScoreFamily
from ..networks.stored_weights import load_weights
from .data import DataSpec
from .directions import DirectionsSpec
from .grammar import parse_shape
from .networks import NetworkSpec
from .probes import ProbeSpec

Network = str | NetworkSpec | ScoreFamily | Callable[[], Any]
Data = str | DataSpec | Dataset
Shape = str | tuple[int, ...]


def as_shape(source: Shape | None) -> tuple[int, ...] | None:
    """A shape, or the one that a string like `1x16x16` names."""
    return parse_shape(source) if isinstance(source, str) else source


def as_family(
    source: Network, *, shape: Shape | None = None, prediction: str | None = None
) -> ScoreFamily:
    """A family, the one that a string names, or the one of a callable that makes modules."""
    size = as_shape(shape)
    if prediction is not None and isinstance(source, (str, NetworkSpec, ScoreFamily)):
        raise InputError("prediction= is for callables; in a string write ,prediction=v")
    if isinstance(source, ScoreFamily):
        return source
    if isinstance(source, str):
        source = NetworkSpec.parse(source)
    if isinstance(source, NetworkSpec):
        return source.family(size)
    if size is None:
        raise InputError("a factory does not say its shape: pass shape=(C, H, W)")
    name = getattr(source, "__name__", type(source).__name__)
    return ScoreFamily(source, size, name=name, prediction=prediction)


def as_geometry(source: str | Path | Geometry) -> Geometry:
    """A geometry, or the one in a directory."""
    return source if isinstance(source, Geometry) else load_geometry(source)


def as_dataset(
    source: Data, *, shape: tuple[int, ...] | None = None, split: str | None = None
) -> Dataset:
    """A dataset, or the one that a string names; `split` is used where the string names none."""
    known = DataSpec.parse(source) if isinstance(source, str) else source
    return known if isinstance(known, Dataset) else known.dataset(shape, split)


def as_dataset_pair(
    a: Data, b: Data, *, shape: tuple[int, ...] | None = None
) -> tuple[Dataset, Dataset]:
    """Two sets to compare; one that does not tell its shape takes the other's.

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


def _needs_shape(source: DataSpec | Dataset) -> bool:
    return isinstance(source, DataSpec) and not source.tells_shape


def as_probe(source: str | Probe, *, shape: tuple[int, ...]) -> Probe:
    """A probe, or the one that a string names."""
    return ProbeSpec.parse(source).probe(shape) if isinstance(source, str) else source


def as_directions(
    source: str | DirectionSet | None, *, shape: tuple[int, ...]
) -> DirectionSet | None:
    """A set of directions, or the one that a string names."""
    return DirectionsSpec.parse(source).directions(shape) if isinstance(source, str) else source


def as_trained(source: str | Path | Trained, *, network: Network | None = None) -> Trained:
    """A trained network, or the one in a directory that a training wrote.

    Args:
        source: the trained network or its directory.
        network: its architecture, where it was made by a callable and has no name to find it by.
    """
    if isinstance(source, Trained):
        return source
    directory = Path(source)
    header, _ = read_training(directory)
    family = as_family(network or header.network, shape=header.shape)
    return read_trained(directory, replace(family, schedule=stored_schedule(header)))


def as_predictor(
    source: str | Path | Trained,
    *,
    weights: str | Path | None = None,
    shape: Shape | None = None,
    like: ScoreFamily | None = None,
) -> tuple[ScoreFamily, Predictor]:
    """A trained network as a function of noisy data, and the family that it is of.

    Args:
        source: as in `as_trained`, or a network in the grammar with weights.
        weights: a safetensors file with the parameters of a network that was trained elsewhere.
        shape: shape of one sample, for a network in the grammar.
        like: refuse another shape or schedule than this family's.
    """
    if weights is not None:
        family = as_family(str(source), shape=shape)
        member = family.member(0).eval().requires_grad_(False)
        load_weights(member, Path(weights))
        return family, member
    trained = as_trained(source)
    own = trained.family
    if like is not None and (own.shape, own.schedule) != (like.shape, like.schedule):
        raise InputError(
            f"the trainings of {like.name} and {own.name} differ in shape or schedule: their "
            "risks are not comparable"
        )
    return own, trained.predict
