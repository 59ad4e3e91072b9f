"""The survey of one architecture of an atlas: summary, geometry, forecast, pictures, report.

Slow parts are stored in the architecture's own directory as they are made, so that a survey that
was killed continues from there. An architecture that cannot be examined gets a row that says why.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..directions import Band
from ..errors import SadsError, brief
from ..foundation.versions import code_version
from ..geometry import Geometry, load_geometry
from ..networks import ScoreFamily
from ..overview import Summary, forecast_first_step, summarise
from ..presentation.mosaics import pictured
from ..presentation.network_summary import forecast_values, summary_values
from ..presentation.small_pictures import save_picture
from ..report import build_report, write_report
from ..specs import DataSpec, parse_shape
from .entries import AtlasEntry
from .rows import AtlasRow, BandPicture, read_row, row_path, write_row

DATA = "gaussian"  # the data that a training would learn: no direction is favoured
Tell = Callable[[str], None]


@dataclass(frozen=True)
class _Clock:
    """The time since it was made, and whether part of the work was done before."""

    goes_on: bool
    wall: float = field(default_factory=time.monotonic)
    processor: float = field(default_factory=time.process_time)

    def costs(self) -> dict[str, Any]:
        """The fields of a row about the time it took."""
        return {
            "seconds": time.monotonic() - self.wall,
            "processor_seconds": time.process_time() - self.processor,
            "goes_on": self.goes_on,
        }


def survey(
    entry: AtlasEntry, out: str | Path, *, seed: int = 0, on_stage: Tell | None = None
) -> AtlasRow:
    """Examine an architecture, or return the row that is stored for it.

    An error that its network raises is written into its row, and the survey is tried again the next
    time.

    Args:
        entry: the architecture.
        out: directory of the atlas.
        seed: the seed of all draws.
        on_stage: called with the name of each stage before it starts.
    """
    place, tell = Path(out), on_stage or (lambda stage: None)
    known = _known(entry, place)
    if known is not None:
        if _forecast_fits(entry, known):
            return known
        tell(f"{entry.name}, its forecast")
        row = _forecast_again(entry, known, place, seed)
        write_row(place, row)
        return row
    clock = _Clock(goes_on=_work(entry, place).exists())
    try:
        row = _row(entry, _summary(entry, place, seed, tell), place, clock)
    except Exception as error:  # other people's networks raise anything
        why = str(error) if isinstance(error, SadsError) else brief(error)
        row = AtlasRow(
            name=entry.name, slug=entry.slug, code=code_version(), failed=why, **clock.costs()
        )
    write_row(place, row)
    return row


def _known(entry: AtlasEntry, place: Path) -> AtlasRow | None:
    """The stored row, if it belongs to this network and did not fail."""
    kept = row_path(place, entry.slug)
    if not kept.exists():
        return None
    row = read_row(kept)
    return row if row.failed is None and row.identity == entry.identity() else None


def _work(entry: AtlasEntry, place: Path) -> Path:
    return place / "work" / entry.slug


def _forecast_fits(entry: AtlasEntry, row: AtlasRow) -> bool:
    """Whether the forecast has the networks that are asked for; true where none can be made."""
    forecast = row.summary["forecast"]
    return forecast is None or forecast["networks"] == entry.forecast


def _forecast_again(entry: AtlasEntry, row: AtlasRow, place: Path, seed: int) -> AtlasRow:
    """The row with another forecast, whose time is added."""
    clock = _Clock(goes_on=row.goes_on)
    family = entry.network.family(parse_shape(entry.shape))
    forecast = forecast_first_step(
        family,
        _data(family),
        batch_size=entry.batch,
        networks=entry.forecast,
        seed=seed,
        out=_work(entry, place),
    )
    costs = clock.costs()
    earlier = row.processor_seconds
    return row.model_copy(
        update={
            "summary": row.summary | forecast_values(forecast),
            "seconds": row.seconds + costs["seconds"],
            "processor_seconds": None if earlier is None else earlier + costs["processor_seconds"],
        }
    )


def _data(family: ScoreFamily) -> Dataset:
    return DataSpec.parse(DATA).dataset(family.shape, "train", count=1)


def _summary(entry: AtlasEntry, place: Path, seed: int, tell: Tell) -> Summary:
    family = entry.network.family(parse_shape(entry.shape))
    return summarise(
        family,
        _data(family),
        networks=entry.networks,
        batch_size=entry.batch,
        forecast_networks=entry.forecast,
        seed=seed,
        out=_work(entry, place),
        on_part=lambda part: tell(f"{entry.name}, {part.seconds:.0f} s"),
    )


def _row(entry: AtlasEntry, summary: Summary, place: Path, clock: _Clock) -> AtlasRow:
    """Measure the row, and make its pictures and its report."""
    facts = {
        "name": entry.name,
        "slug": entry.slug,
        "identity": entry.identity(),
        "code": code_version(),
        "summary": summary_values(summary),
    }
    work = _work(entry, place) / "geometry"
    try:
        geometry = load_geometry(work)
    except SadsError:  # the summary says why there is none
        return AtlasRow(**facts, **clock.costs())
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
        **clock.costs(),
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
    """The eigenvector of a band, or for several their energy by position, which needs no basis."""
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
    """Whether a band is one eigenvector, apart from copies in other channels or pixels."""
    structure = geometry.structure
    return band.width == structure.copies and structure.rows > 1
