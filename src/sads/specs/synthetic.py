"""Strings to data on known manifolds: `rank-one:SOURCE:I` and `sphere:SOURCE:I,J,K`.

SOURCE is a basis (`canonical`, `dct`, `dst`, `hadamard`, `haar`) or `geometry=DIR`, whose
eigenvectors count from 0, the largest eigenvalue; there `band=K` may stand for the indices:
directions drawn by the seed inside the band.
"""

from collections.abc import Callable, Iterable

import numpy as np
from jaxtyping import Float

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
from .grammar import convert

SYNTHETIC = ("rank-one", "sphere")
DEFAULT_COUNT = 10_000
Directions = Callable[[list[str]], Float[np.ndarray, "D k"]]


def parse_synthetic(
    text: str, kind: str, rest: str, selection: Selection, shape: tuple[int, ...] | None
) -> Dataset:
    """Rank-one or sphere data.

    Args:
        text: the whole specification, the name of the result.
        kind: one of `SYNTHETIC`.
        rest: `SOURCE:INDICES`.
        selection: count, seed and split.
        shape: shape of one sample; a geometry has its own.
    """
    source, _, places = rest.rpartition(":")
    indices = places.split(",")
    needed = 1 if kind == "rank-one" else 3
    in_band = source.startswith("geometry=") and places.startswith("band=")
    if not source or len(indices) != (1 if in_band else needed):
        example = "rank-one:dct:0" if kind == "rank-one" else "sphere:dct:0,1,2"
        raise InputError(f"{kind} data is written like {example}, got {text!r}")
    count = DEFAULT_COUNT if selection.count is None else selection.count
    generator = split_stream(selection.seed, selection.split or "train")
    own, directions = _source(source, selection.seed, shape, text, needed)
    columns = directions(indices)
    if kind == "rank-one":
        v = columns[:, 0]
        samples, law = rank_one(v, count, generator), Normal.rank_one(v)
        return Dataset(samples.reshape(count, *own), text, v, law)
    samples = sphere(columns, count, generator)
    return Dataset(samples.reshape(count, *own), text, law=Sphere(columns))


def _source(
    source: str, seed: int, shape: tuple[int, ...] | None, text: str, needed: int
) -> tuple[tuple[int, ...], Directions]:
    """The shape of a sample, and the function from what stands for indices to directions."""
    if source.startswith("geometry="):
        return _geometry_source(source.removeprefix("geometry="), seed, shape, needed)
    if source not in BASES:
        known = ", ".join(BASES)
        raise InputError(f"unknown directions {source!r}: expected {known} or geometry=DIR")
    if shape is None:
        raise InputError(f"{text} does not say its shape: pass --shape, for example 1x16x16")
    return shape, lambda places: _columns(element(source, shape, _index(p)) for p in places)


def _geometry_source(
    directory: str, seed: int, shape: tuple[int, ...] | None, needed: int
) -> tuple[tuple[int, ...], Directions]:
    geometry = load_geometry(directory)
    if shape is not None and shape != geometry.shape:
        expected, got = ("x".join(map(str, s)) for s in (shape, geometry.shape))
        raise InputError(f"the geometry in {directory} is of {got}, expected {expected}")

    def directions(places: list[str]) -> np.ndarray:
        if places[0].startswith("band="):
            band = convert("band", places[0].removeprefix("band="), int)
            return band_directions(geometry.spectrum(), band, seed, needed)
        return _columns(index_direction(geometry.spectrum(), _index(p)) for p in places)

    return geometry.shape, directions


def _columns(vectors: Iterable[np.ndarray]) -> np.ndarray:
    return np.stack(list(vectors), axis=1)


def _index(place: str) -> int:
    return convert("the index of a direction", place, int)
