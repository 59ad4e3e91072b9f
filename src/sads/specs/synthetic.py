"""Synthetic data of the grammar: rank-one, spheres, Gaussians and mixtures of them.

SOURCE is a basis (`canonical`, `dct`, `dst`, `hadamard`, `haar`) or `geometry=DIR`. Eigenvectors
count from 0, the largest eigenvalue. With a geometry, `band=K` may replace the indices: directions
are then drawn by the seed inside the band.
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from ..alignment.moments import second_moment
from ..data import (
    BASES,
    Dataset,
    Normal,
    Selection,
    Sphere,
    band_directions,
    element,
    index_direction,
    rank_one,
    sphere,
    split_stream,
)
from ..errors import InputError
from ..geometry import load_geometry
from .data import DataSpec
from .mixtures import read_mixture

DEFAULT_COUNT = 10_000
Shape = tuple[int, ...] | None
Directions = tuple[tuple[int, ...], Float[np.ndarray, "D k"]]


def _rank_one(spec: DataSpec, selection: Selection, shape: Shape) -> Dataset:
    own, columns = _directions(spec, selection, shape, needed=1, example="rank-one:dct:0")
    v, count = columns[:, 0], _count(selection)
    samples = rank_one(v, count, _generator(selection))
    return Dataset(samples.reshape(count, *own), str(spec), v, Normal.rank_one(v))


def _sphere(spec: DataSpec, selection: Selection, shape: Shape) -> Dataset:
    own, columns = _directions(spec, selection, shape, needed=3, example="sphere:dct:0,1,2")
    count = _count(selection)
    samples = sphere(columns, count, _generator(selection))
    return Dataset(samples.reshape(count, *own), str(spec), law=Sphere(columns))


def _gaussian(spec: DataSpec, selection: Selection, shape: Shape) -> Dataset:
    """N(0, I), or N(0, C) with the second moment C of other data."""
    if spec.moment is not None:
        known = spec.moment.dataset(shape, "train")
        law, own = Normal.of_moment(second_moment(known, known.shape).matrix), known.shape
    elif spec.where is not None:
        raise InputError(f"gaussian data is gaussian or gaussian:moment=DATA, got {str(spec)!r}")
    else:
        spec.own_fields(())
        own = _needed(shape, spec)
        law = Normal.white(math.prod(own))
    count = _count(selection)
    samples = law.draw(count, _generator(selection)).astype(np.float32)
    return Dataset(samples.reshape(count, *own), str(spec), law=law)


def _mixture(spec: DataSpec, selection: Selection, shape: Shape) -> Dataset:
    spec.own_fields(())
    own, law = read_mixture(str(spec.where))
    if shape is not None and shape != own:
        expected, got = ("x".join(map(str, s)) for s in (shape, own))
        raise InputError(f"the means in {spec.where} are of {got}, expected {expected}")
    count = _count(selection)
    samples = law.draw(count, _generator(selection)).astype(np.float32)
    return Dataset(samples.reshape(count, *own), str(spec), law=law)


MAKERS: dict[str, Callable[[DataSpec, Selection, Shape], Dataset]] = {
    "rank-one": _rank_one,
    "sphere": _sphere,
    "gaussian": _gaussian,
    "mixture": _mixture,
}


def _count(selection: Selection) -> int:
    return DEFAULT_COUNT if selection.count is None else selection.count


def _generator(selection: Selection) -> np.random.Generator:
    return split_stream(selection.seed, selection.split or "train")


def _needed(shape: Shape, spec: DataSpec) -> tuple[int, ...]:
    if shape is None:
        raise InputError(f"{spec} does not say its shape: pass one, for example shape='1x16x16'")
    return shape


def _directions(
    spec: DataSpec, selection: Selection, shape: Shape, *, needed: int, example: str
) -> Directions:
    """The shape of a sample and the directions that a specification names, as columns."""
    spec.own_fields(())
    if not spec.source or len(spec.places) != (needed if spec.band is None else 1):
        raise InputError(f"{spec.kind} data is written like {example}, got {str(spec)!r}")
    if spec.geometry is not None:
        return _of_geometry(spec, selection.seed, shape, needed)
    if spec.source not in BASES:
        known = ", ".join(BASES)
        raise InputError(f"unknown directions {spec.source!r}: expected {known} or geometry=DIR")
    own = _needed(shape, spec)
    return own, np.stack([element(spec.source, own, i) for i in spec.indices], axis=1)


def _of_geometry(spec: DataSpec, seed: int, shape: Shape, needed: int) -> Directions:
    geometry = load_geometry(str(spec.geometry))
    if shape is not None and shape != geometry.shape:
        expected, got = ("x".join(map(str, s)) for s in (shape, geometry.shape))
        raise InputError(f"the geometry in {spec.geometry} is of {got}, expected {expected}")
    spectrum = geometry.spectrum()
    if spec.band is not None:
        return geometry.shape, band_directions(spectrum, spec.band, seed, needed)
    columns = [index_direction(spectrum, index) for index in spec.indices]
    return geometry.shape, np.stack(columns, axis=1)
