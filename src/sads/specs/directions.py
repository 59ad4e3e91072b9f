"""Strings to directions, along which risk and forecasts are told apart.

| directions     | what is told apart                                         |
|----------------|------------------------------------------------------------|
| `geometry=DIR` | the eigenvectors of a geometry, largest eigenvalue first   |
| `dct`          | every coefficient of the DCT of each channel               |
| `dct:bands=K`  | K radial bands of frequency, the first of them the constant |
| `means`        | the mean of each channel                                   |
| `canonical`    | every entry                                                |
| `npy:FILE`     | the columns of an array, one direction each                |
"""

from ..data import read_npy
from ..directions.sets import ChannelMeans, Columns, Cosines, DirectionSet, Eigenvectors, Entries
from ..errors import InputError
from ..geometry import load_geometry
from .grammar import convert

KNOWN = "geometry=DIR, dct, dct:bands=K, means, canonical or npy:FILE"


def parse_directions(text: str, *, shape: tuple[int, ...]) -> DirectionSet:
    """The directions that a string names, of samples of the given shape.

    >>> parse_directions("dct:bands=4", shape=(1, 8, 8)).widths.tolist()
    [1, 12, 28, 23]
    """
    kind, _, rest = text.partition(":")
    if text.startswith("geometry="):
        return _eigenvectors(text.removeprefix("geometry="), shape)
    if kind == "npy" and rest:
        return Columns(shape, read_npy(rest).astype(float))
    if kind == "dct" and rest.startswith("bands="):
        bands = convert("the number of bands", rest.removeprefix("bands="), int)
        return Cosines(shape, bands)
    plain = {"dct": Cosines, "means": ChannelMeans, "canonical": Entries}
    if text in plain:
        return plain[text](shape)
    raise InputError(f"unknown directions {text!r}: expected {KNOWN}")


def _eigenvectors(directory: str, shape: tuple[int, ...]) -> DirectionSet:
    geometry = load_geometry(directory)
    if geometry.shape != shape:
        got, expected = ("x".join(map(str, s)) for s in (geometry.shape, shape))
        raise InputError(f"the geometry in {directory} is of {got}, the network takes {expected}")
    return Eigenvectors(shape, geometry.spectrum())
