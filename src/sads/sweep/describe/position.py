"""Where a rank-one trial lies in the spectrum of a geometry: band, eigenvalue and window."""

from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic import BaseModel

from ...errors import InputError
from ...specs import DataSpec
from ...specs.digests import geometry_digest

if TYPE_CHECKING:
    from ...directions import Spectrum


class Place(BaseModel, frozen=True, extra="forbid"):
    """A band of a spectrum, in descending order of eigenvalue.

    Attributes:
        geometry: digest of the geometry.
        first: first index of the band.
        last: last index, inclusive.
        eigenvalue: mean over the band.
        certified: whether the band's subspace and indices are known.
        window: over how many levels on either side the direction may be spread, the largest number
            of the band; None in sweeps older than this field.
    """

    geometry: str
    first: int
    last: int
    eigenvalue: float
    certified: bool
    window: int | None = None


def place_of(data: DataSpec, shape: tuple[int, ...]) -> Place | None:
    """The place of rank-one data along a geometry's direction; None for other data.

    Raises:
        InputError: for an index or a band that the spectrum does not have, or another shape.
    """
    if data.kind != "rank-one" or data.geometry is None:
        return None
    own, spectrum = spectrum_of(data.geometry)
    if own != shape:
        sizes = ["x".join(map(str, s)) for s in (own, shape)]
        raise InputError(
            f"the geometry in {data.geometry} is of {sizes[0]}, the network of {sizes[1]}"
        )
    places = data.indices if data.band is None else (data.band,)
    if len(places) != 1 or places[0] < 0:
        raise InputError(f"a direction is an index or band=K from 0 on, got {str(data)!r}")
    (number,) = places
    if data.band is not None:
        if number >= len(spectrum.bands):
            raise InputError(f"{data}: the geometry has bands 0 to {len(spectrum.bands) - 1}")
        band = spectrum.bands[number]
        indices = slice(band.first, band.last + 1)
    else:
        if number >= spectrum.structure.directions:
            raise InputError(
                f"{data}: the spectrum has indices 0 to {spectrum.structure.directions - 1}"
            )
        band = spectrum.band_of(number)
        indices = slice(number, number + 1)
    return Place(
        geometry=geometry_digest(data.geometry),
        first=band.first,
        last=band.last,
        eigenvalue=float(spectrum.eigenvalues[band.first : band.last + 1].mean()),
        certified=band.certified,
        window=int(spectrum.windows[indices].max()),
    )


def spectrum_of(directory: str) -> "tuple[tuple[int, ...], Spectrum]":
    """Shape and spectrum of a stored geometry; computed once for each content."""
    return _spectrum(directory, geometry_digest(directory))


@lru_cache(maxsize=16)
def _spectrum(directory: str, content: str) -> "tuple[tuple[int, ...], Spectrum]":
    from ...geometry import load_geometry  # torch takes seconds to load

    geometry = load_geometry(directory)
    return geometry.shape, geometry.spectrum()
