"""An atlas in words: the cells of its table, for the page and for the documentation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..doctor.finding import SEVERITIES
from ..presentation.numbers import sizes, with_error
from .entries import AtlasEntry
from .rows import AtlasRow, BandPicture

LARGE_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
READ = {
    "convolution": "exactly",
    "tokens": "exactly",
    "dense": "exactly",
    "random": "random last layers",
    "sampled": "sampled",
}


@dataclass(frozen=True)
class Line:
    """What is shown of one architecture.

    Attributes:
        entry: as the list has it.
        row: what was measured.
        cells: words by the name of the column; `sort` has a number for those that are sorted so.
        sort: numbers to sort by.
    """

    entry: AtlasEntry
    row: AtlasRow
    cells: dict[str, str]
    sort: dict[str, float]


def lines(entries: Sequence[AtlasEntry], rows: Sequence[AtlasRow]) -> list[Line]:
    """One line for each entry that has been looked at, in the order of the list."""
    known = {row.slug: row for row in rows}
    return [_line(entry, known[entry.slug]) for entry in entries if entry.slug in known]


def _line(entry: AtlasEntry, row: AtlasRow) -> Line:
    summary = row.summary
    size = math.prod(summary["shape"])
    effective, error = summary["effective_directions"], summary["effective_directions_error"]
    cells = {
        "name": entry.name,
        "kind": entry.kind,
        "published": entry.published,
        "reduced": entry.reduced or "nothing",
        "shape": sizes(tuple(summary["shape"])),
        "parameters": counted(summary["parameters"]),
        "findings": findings(summary["findings"]),
        "anisotropy": "not told"
        if effective is None
        else f"{with_error(effective, error, 2)} of {size:,}",
        "last": summary["learned_last"] or "no order",
        "read": READ.get(row.readout or "", row.readout or "not told"),
        "seconds": f"{row.seconds:,.0f} s",
    }
    sort = {
        "parameters": float(summary["parameters"] or 0),
        "anisotropy": math.inf if effective is None else effective / size,
        "findings": float(sum(f["severity"] != SEVERITIES[-1] for f in summary["findings"])),
        "seconds": row.seconds,
    }
    return Line(entry, row, cells, sort)


def counted(number: int | None) -> str:
    """A large number with a unit.

    >>> counted(35_746_307)
    '35.7 M'
    """
    if number is None:
        return "not told"
    for unit, letter in LARGE_UNITS:
        if number >= unit:
            return f"{number / unit:.3g} {letter}"
    return str(number)


def findings(noticed: Sequence[dict[str, Any]]) -> str:
    """The codes of what the doctor finds above a note, and how many notes there are."""
    loud = [f"{one['severity']}: {one['code']}" for one in noticed if one["severity"] != "note"]
    notes = sum(one["severity"] == "note" for one in noticed)
    return "; ".join([*loud, *([f"{notes} note{'s' * (notes != 1)}"] if notes else [])]) or "none"


def band_words(band: BandPicture) -> str:
    """What a picture shows."""
    where = f"level {band.first}" if band.first == band.last else f"levels {band.first}-{band.last}"
    return f"{where}, {band.relative:.2g} times the mean eigenvalue"
