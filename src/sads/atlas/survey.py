"""One architecture of an atlas, looked at: summary, geometry, forecast, pictures, report.

What takes long is kept in the architecture's own directory as it is made, so that a survey that was
killed goes on from there.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..directions import Band
from ..errors import SadsError
from ..foundation.versions import code_version
from ..geometry import Geometry, load_geometry
from ..overview import Summary, summarise
from ..presentation.mosaics import pictured
from ..presentation.network_summary import summary_values
from ..presentation.small_pictures import save_picture
from ..report import build_report, write_report
from ..specs import DataSpec, parse_shape
from .entries import AtlasEntry
from .rows import AtlasRow, BandPicture, read_row, row_path, write_row

DATA = "gaussian"  # what a training would learn: nothing that favours a direction
Tell = Callable[[str], None]


def survey(
    entry: AtlasEntry, out: str | Path, *, seed: int = 0, on_stage: Tell | None = None
) -> AtlasRow:
    """Look at an architecture, or take over what is known of it.

    Args:
        entry: the architecture.
        out: directory of the atlas.
        seed: of all draws.
        on_stage: called with what is done next.
    """
    place, tell = Path(out), on_stage or (lambda stage: None)
    known = row_path(place, entry.slug)
    if known.exists():
        row = read_row(known)
        if row.identity == entry.identity():
            return row
    started = time.monotonic()
    family = entry.network.family(parse_shape(entry.shape))
    work = place / "work" / entry.slug
    summary = summarise(
        family,
        _data(family.shape),
        networks=entry.networks,
        seed=seed,
        out=work,
        on_part=lambda part: tell(f"{entry.name}, {part.seconds:.0f} s"),
    )
    row = _row(entry, summary, place, time.monotonic() - started)
    write_row(place, row)
    return row


def _data(shape: tuple[int, ...]) -> Dataset:
    return DataSpec.parse(DATA).dataset(shape, "train", count=1)


def _row(entry: AtlasEntry, summary: Summary, place: Path, seconds: float) -> AtlasRow:
    """The row, with its pictures and its report made."""
    facts = {
        "name": entry.name,
        "slug": entry.slug,
        "identity": entry.identity(),
        "code": code_version(),
        "summary": summary_values(summary),
        "seconds": seconds,
    }
    work = place / "work" / entry.slug / "geometry"
    try:
        geometry = load_geometry(work)
    except SadsError:  # the summary says why there is none
        return AtlasRow(**facts)
    report = place / "reports" / f"{entry.slug}.html"
    report.parent.mkdir(parents=True, exist_ok=True)
    write_report(build_report([work]), report, force=True)
    spectrum = geometry.spectrum()
    certified = [b for b in spectrum.bands if b.certified and not b.null]
    ends = (certified[0], certified[-1]) if certified else (None, None)
    first, last = (
        None if band is None else _pictured(geometry, band, place, f"{entry.slug}-{which}")
        for band, which in zip(ends, ("first", "last"), strict=True)
    )
    return AtlasRow(
        **facts,
        structure=geometry.structure.kind,
        readout=geometry.plan.readout.kind,
        subspace=geometry.plan.subspace,
        whitened_error=geometry.whitened_error,
        resolution_median=spectrum.resolution_median,
        first=first,
        last=last,
    )


def _pictured(geometry: Geometry, band: Band, place: Path, name: str) -> BandPicture:
    spectrum = geometry.spectrum()
    mean = geometry.trace / geometry.structure.size
    values = spectrum.eigenvalues[band.first : band.last + 1]
    alone = is_alone(geometry, band)
    picture = band_picture(geometry, band)
    save_picture(picture, place / "pictures" / f"{name}.png", signed=alone)
    return BandPicture(
        first=band.first,
        last=band.last,
        relative=float(values.mean() / mean),
        shows="eigenvector" if alone else "energy",
        picture=f"{name}.png",
    )


def band_picture(geometry: Geometry, band: Band) -> Float[np.ndarray, "..."]:
    """The eigenvector of a band; of several, their energy by position, the same in every basis."""
    spectrum, structure = geometry.spectrum(), geometry.structure
    if is_alone(geometry, band):
        return pictured(spectrum.vector(band.first), structure)
    step = 1 if structure.rows == 1 else structure.copies
    energy = [
        np.square(pictured(spectrum.vector(index), structure))
        for index in range(band.first, band.last + 1, step)
    ]
    return np.sum(energy, axis=0)


def is_alone(geometry: Geometry, band: Band) -> bool:
    """Whether a band is one eigenvector, but for copies of it in other channels or pixels."""
    structure = geometry.structure
    return band.width == structure.copies and structure.rows > 1
