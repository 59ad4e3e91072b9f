"""Strings to data on known manifolds: `rank-one:SOURCE:I` and `sphere:SOURCE:I,J,K`.

SOURCE is a basis (`canonical`, `dct`, `dst`, `hadamard`, `haar`) or `geometry=DIR`, whose
eigenvectors count from 0, the largest eigenvalue; there `band=K` may stand for the index of
rank-one data.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from ..data import (
    BASES,
    Dataset,
    Selection,
    band_direction,
    element,
    index_direction,
    rank_one,
    sphere,
    stream,
)
from ..errors import InputError
from ..geometry import load_geometry
from .grammar import convert

SYNTHETIC = ("rank-one", "sphere")
DEFAULT_COUNT = 10_000
Direction = Callable[[str], Float[np.ndarray, " D"]]


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
    if not source or len(indices) != needed:
        example = "rank-one:dct:0" if kind == "rank-one" else "sphere:dct:0,1,2"
        raise InputError(f"{kind} data is written like {example}, got {text!r}")
    count = DEFAULT_COUNT if selection.count is None else selection.count
    generator = stream(selection.seed, selection.split or "train")
    own, direction = _source(source, selection.seed, shape, text)
    if kind == "rank-one":
        v = direction(indices[0])
        return Dataset(rank_one(v, count, generator).reshape(count, *own), text, v)
    columns = np.stack([direction(str(_index(place))) for place in indices], axis=1)
    return Dataset(sphere(columns, count, generator).reshape(count, *own), text)


def _source(
    source: str, seed: int, shape: tuple[int, ...] | None, text: str
) -> tuple[tuple[int, ...], Direction]:
    """The shape of a sample, and the function from what stands for an index to a direction."""
    if source.startswith("geometry="):
        return _geometry_source(source.removeprefix("geometry="), seed, shape)
    if source not in BASES:
        known = ", ".join(BASES)
        raise InputError(f"unknown directions {source!r}: expected {known} or geometry=DIR")
    if shape is None:
        raise InputError(f"{text} does not say its shape: pass --shape, for example 1x16x16")
    return shape, lambda place: element(source, shape, _index(place))


def _geometry_source(
    directory: str, seed: int, shape: tuple[int, ...] | None
) -> tuple[tuple[int, ...], Direction]:
    geometry = load_geometry(directory)
    if shape is not None and shape != geometry.shape:
        expected, got = ("x".join(map(str, s)) for s in (shape, geometry.shape))
        raise InputError(f"the geometry in {directory} is of {got}, expected {expected}")

    def direction(place: str) -> np.ndarray:
        if place.startswith("band="):
            band = convert("band", place.removeprefix("band="), int)
            return band_direction(geometry.spectrum(), band, seed)
        return index_direction(geometry.spectrum(), _index(place))

    return geometry.shape, direction


def _index(place: str) -> int:
    return convert("the index of a direction", place, int)
