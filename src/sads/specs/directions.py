"""Strings to directions, along which risk and forecasts are reported separately.

| directions     | what is reported separately                                 |
|----------------|-------------------------------------------------------------|
| `geometry=DIR` | the eigenvectors of a geometry, largest eigenvalue first    |
| `dct`          | every coefficient of the DCT of each channel                |
| `dct:bands=K`  | K radial bands of frequency, the first is the constant      |
| `means`        | the mean of each channel                                    |
| `canonical`    | every entry                                                 |
| `npy:FILE`     | the columns of an array, one direction each                 |
"""

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from .digests import geometry_digest, path_digest
from .grammar import convert
from .spec import Rename, Spec

if TYPE_CHECKING:
    from ..directions.sets import DirectionSet

KNOWN = "geometry=DIR, dct, dct:bands=K, means, canonical or npy:FILE"
_GEOMETRY, _BANDS = "geometry=", "bands="


class DirectionsSpec(Spec, frozen=True):
    """Directions of the grammar.

    Attributes:
        kind: `geometry`, `dct`, `means`, `canonical` or `npy`.
        where: the directory, the file or `bands=K`; None where nothing follows.
    """

    kind: str
    where: str | None = None

    @classmethod
    def parse(cls, text: str) -> "DirectionsSpec":
        if text.startswith(_GEOMETRY):
            return cls(kind="geometry", where=text.removeprefix(_GEOMETRY))
        kind, colon, where = text.partition(":")
        return cls(kind=kind, where=where if colon else None)

    def written(self, rename: Rename, root: Path) -> str:
        where = self.where
        if self.kind == "geometry" and where is not None:
            return f"{_GEOMETRY}{rename(where, geometry_digest)}"
        if self.kind == "npy" and where:
            where = rename(where, path_digest)
        return self.kind if where is None else f"{self.kind}:{where}"

    def directions(self, shape: tuple[int, ...]) -> "DirectionSet":
        """The directions for samples of this shape.

        Raises:
            SadsError: for directions that are not known, cannot be read or do not fit.

        >>> DirectionsSpec.parse("dct:bands=4").directions((1, 8, 8)).widths.tolist()
        [1, 12, 28, 23]
        """
        from ..data import read_npy  # NumPy and torch take long to load
        from ..directions.sets import ChannelMeans, Columns, Cosines, Entries

        where = self.where or ""
        if self.kind == "geometry":
            return _eigenvectors(where, shape)
        if self.kind == "npy" and where:
            return Columns(shape, read_npy(where).astype(float))
        if self.kind == "dct" and where.startswith(_BANDS):
            bands = convert("the number of bands", where.removeprefix(_BANDS), int)
            return Cosines(shape, bands)
        plain = {"dct": Cosines, "means": ChannelMeans, "canonical": Entries}
        if self.kind in plain and self.where is None:
            return plain[self.kind](shape)
        raise InputError(f"unknown directions {str(self)!r}: expected {KNOWN}")


def _eigenvectors(directory: str, shape: tuple[int, ...]) -> "DirectionSet":
    from ..directions.sets import Eigenvectors
    from ..geometry import load_geometry

    geometry = load_geometry(directory)
    if geometry.shape != shape:
        got, expected = ("x".join(map(str, s)) for s in (geometry.shape, shape))
        raise InputError(f"the geometry in {directory} is of {got}, the network takes {expected}")
    return Eigenvectors(shape, geometry.spectrum())
