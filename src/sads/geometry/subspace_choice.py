"""The subspace of a geometry: the one that was requested, or one that fits.

Without a request the whole factor is estimated if it fits in memory. Otherwise a subspace is
chosen. For a last layer that is integrated this is `adaptive:512`, since a few networks show all of
its directions; for outputs, of which each network shows one direction, it is the lowest
frequencies. Smaller subspaces follow until one fits.

Where an answer should come soon (`UpTo`), the lowest frequencies of images are enough: the spectrum
of a factor takes time with the cube of its rows, minutes at 4,096.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..devices import available_memory
from ..errors import InputError
from ..inspection.readout import PlainReadOut
from ..inspection.subspace_readout import AnyReadOut, Compressed
from ..inspection.subspaces import Adaptive, AnySubspace, LowFrequencies, Whole


@dataclass(frozen=True)
class UpTo:
    """The whole factor up to so many rows; of larger images the lowest frequencies."""

    rows: int


QUICK = UpTo(2048)
Request = Whole | UpTo | AnySubspace | None
MOST_ADAPTIVE, FEWEST_ADAPTIVE = 512, 64  # directions of the factor that are kept by default
MOST_FREQUENCIES = 32  # along each axis
MOST_COSINES = 1024  # in all


def fitting(readout: AnyReadOut, subspace: Request, *, exact: bool = False) -> AnyReadOut:
    """The read-out on the requested subspace, or on one that fits in memory.

    Args:
        readout: the read-out of the whole space.
        subspace: the requested subspace; None for the whole if it fits.
        exact: whether the factor is a closed form.

    Raises:
        InputError: if the subspace is larger than the space, or nothing fits.
    """
    if isinstance(readout, Compressed):
        return readout
    if isinstance(subspace, UpTo):
        subspace = None if exact else _low_frequencies(readout, subspace.rows)
    if isinstance(subspace, Whole):
        readout.require_memory(exact=exact)
        return readout
    if subspace is not None:
        chosen = Compressed.of(readout, subspace)
        chosen.require_memory()
        if isinstance(subspace, Adaptive):  # the networks are too few to show as many
            subspace.networks(readout.structure, readout.rank)
        return chosen
    if readout.peak_memory(exact=exact) <= available_memory():
        return readout
    return _chosen(readout, exact=exact)


def sketched(readout: AnyReadOut) -> bool:
    """Whether the subspace of a read-out is found by a sketch."""
    return isinstance(readout, Compressed) and isinstance(readout.subspace, Adaptive)


def _chosen(readout: PlainReadOut, *, exact: bool) -> Compressed:
    candidates = [Compressed.of(readout, one) for one in _candidates(readout)]
    for one in candidates:
        if one.peak_memory() <= available_memory():
            return one
    rows, there = readout.structure.rows, available_memory() / 2**30
    whole = readout.peak_memory(exact=exact) / 2**30
    least = candidates[-1] if candidates else None
    would = (
        "no subspace is smaller"
        if least is None
        else f"{least.subspace.spelled} would need {least.peak_memory() / 2**30:,.1f} GiB"
    )
    raise InputError(
        f"a factor of {rows:,} x {rows:,} needs {whole:,.1f} GiB of memory, {there:,.1f} GiB are "
        f"there: {would}; choose a smaller shape, or free some memory"
    )


def _low_frequencies(readout: PlainReadOut, most: int) -> LowFrequencies | None:
    """The lowest frequencies of an image whose factor has more rows than that."""
    if readout.structure.rows <= most or len(readout.structure.grid[1]) != 2:
        return None
    low = (one for one in _candidates(readout) if isinstance(one, LowFrequencies))
    return next(low, None)


def _candidates(readout: PlainReadOut) -> Iterator[AnySubspace]:
    """Subspaces that are smaller than the space, the largest first."""
    structure = readout.structure
    if readout.rank > 1:
        count = MOST_ADAPTIVE
        while count >= FEWEST_ADAPTIVE:
            if count < structure.rows:
                yield Adaptive(count)
            count //= 2
    channels, sides = structure.grid
    most = math.floor((MOST_COSINES / channels) ** (1 / len(sides)) + 1e-9)
    count = min(MOST_FREQUENCIES, most, *sides)
    while count >= 1:
        if channels * count ** len(sides) < structure.rows:
            yield LowFrequencies(count)
        count //= 2
