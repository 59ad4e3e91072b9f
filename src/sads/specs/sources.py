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
from .data import parse_dataset
from .directions import parse_directions
from .grammar import parse_shape
from .networks import parse_network
from .probes import parse_probe

Network = str | ScoreFamily | Callable[[], Any]
Shape = str | tuple[int, ...]


def as_shape(source: Shape | None) -> tuple[int, ...] | None:
    """A shape, or the one that a string like `1x16x16` names."""
    return parse_shape(source) if isinstance(source, str) else source


def as_family(
    source: Network, *, shape: Shape | None = None, prediction: str | None = None
) -> ScoreFamily:
    """A family, the one that a string names, or the one of a callable that makes modules."""
    size = as_shape(shape)
    if prediction is not None and (isinstance(source, (str, ScoreFamily))):
        raise InputError("prediction= is for callables; in a string write ,prediction=v")
    if isinstance(source, ScoreFamily):
        return source
    if isinstance(source, str):
        return parse_network(source, shape=size)
    if size is None:
        raise InputError("a factory does not say its shape: pass shape=(C, H, W)")
    name = getattr(source, "__name__", type(source).__name__)
    return ScoreFamily(source, size, name=name, prediction=prediction)


def as_geometry(source: str | Path | Geometry) -> Geometry:
    """A geometry, or the one in a directory."""
    return source if isinstance(source, Geometry) else load_geometry(source)


def as_dataset(
    source: str | Dataset, *, shape: tuple[int, ...] | None = None, split: str | None = None
) -> Dataset:
    """A dataset, or the one that a string names; `split` is used where the string names none."""
    return parse_dataset(source, shape=shape, split=split) if isinstance(source, str) else source


def as_dataset_pair(
    a: str | Dataset, b: str | Dataset, *, shape: tuple[int, ...] | None = None
) -> tuple[Dataset, Dataset]:
    """Two sets to compare; one that does not tell its shape takes the other's.

    Arrays are samples as they are. Everything else may have been trained on in part, so its
    held-out split is taken.
    """
    sets: dict[int, Dataset] = {}
    for place, source in sorted(enumerate((a, b)), key=lambda pair: _needs_shape(pair[1])):
        is_array = isinstance(source, str) and source.startswith(("npy:", "npz:"))
        sets[place] = as_dataset(source, shape=shape, split=None if is_array else "held-out")
        shape = shape or sets[place].shape
    return sets[0], sets[1]


def _needs_shape(source: str | Dataset) -> bool:
    return isinstance(source, str) and source.startswith(("rank-one:", "sphere:"))


def as_probe(source: str | Probe, *, shape: tuple[int, ...]) -> Probe:
    """A probe, or the one that a string names."""
    return parse_probe(source, shape=shape) if isinstance(source, str) else source


def as_directions(
    source: str | DirectionSet | None, *, shape: tuple[int, ...]
) -> DirectionSet | None:
    """A set of directions, or the one that a string names."""
    return parse_directions(source, shape=shape) if isinstance(source, str) else source


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
