"""An atlas in words: the cells of its table, for the page and for the documentation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..doctor.finding import SEVERITIES
from ..presentation.numbers import with_error
from .entries import AtlasEntry
from .paces import ALL, learning_order
from .rows import AtlasRow, BandPicture

LARGE_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
MEASURED = ("parameters", "anisotropy", "last", "read")
UNKNOWN = "not told"
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
        paces: how fast a first step learns each group of directions, the slowest first.
    """

    entry: AtlasEntry
    row: AtlasRow
    cells: dict[str, str]
    sort: dict[str, float]
    paces: tuple[tuple[str, str], ...] = ()


def lines(entries: Sequence[AtlasEntry], rows: Sequence[AtlasRow]) -> list[Line]:
    """One line for each entry that has been looked at, in the order of the list."""
    known = {row.slug: row for row in rows}
    return [_line(entry, known[entry.slug]) for entry in entries if entry.slug in known]


def _line(entry: AtlasEntry, row: AtlasRow) -> Line:
    told = {
        "name": entry.name,
        "kind": entry.kind,
        "published": entry.published,
        "reduced": entry.reduced,
        "shape": entry.shape,
        "seconds": cost_words(row),
    }
    cost = row.seconds if row.processor_seconds is None else row.processor_seconds
    if row.failed is not None:
        cells = dict.fromkeys(MEASURED, UNKNOWN) | told | {"findings": f"failed: {row.failed}"}
        return Line(entry, row, cells, {"seconds": cost})
    summary = row.summary
    size = math.prod(summary["shape"])
    effective, error = summary["effective_directions"], summary["effective_directions_error"]
    cells = told | {
        "parameters": counted(summary["parameters"]),
        "findings": findings(summary["findings"]),
        "anisotropy": f"not told: {summary['untold'].get('geometry', 'no geometry')}"
        if effective is None
        else f"{with_error(effective, error, 2)} of {size:,}",
        "last": last_words(row),
        "read": READ.get(row.readout or "", row.readout or UNKNOWN),
    }
    sort = {
        "parameters": float(summary["parameters"] or 0),
        "findings": float(sum(f["severity"] != SEVERITIES[-1] for f in summary["findings"])),
        "seconds": cost,
    } | ({} if effective is None else {"anisotropy": effective / size})
    return Line(entry, row, cells, sort, paces_of(row))


def cost_words(row: AtlasRow) -> str:
    """What a row took; processor time where it was counted."""
    more = "more than " if row.goes_on else ""
    if row.processor_seconds is None:
        return f"{more}{row.seconds:,.0f} s by the clock"
    return f"{more}{row.processor_seconds:,.0f} s"


def last_words(row: AtlasRow) -> str:
    """What is forecast to be learned last, or why nothing is."""
    forecast = row.summary["forecast"]
    if forecast is None:
        return f"not told: {row.summary['untold'].get('forecast', 'no forecast')}"
    order = learning_order(forecast)
    if order.has_order:
        which = "small networks" if order.kind == ALL else f"small {order.kind}s"
        right = f"; such forecasts were right for {order.right} of {order.of} {which}"
        return order.paces[0].label + (right if order.of else "")
    if not order.relative:
        return f"no order: nothing is learned beyond its error (p = {order.p_value:.2f})"
    return f"no order beyond the errors (p = {order.p_value:.2f})"


def paces_of(row: AtlasRow) -> tuple[tuple[str, str], ...]:
    """The measured pace of each group in words, the slowest first."""
    forecast = row.summary["forecast"]
    if forecast is None:
        return ()
    order = learning_order(forecast)
    return tuple((pace.label, with_error(pace.value, pace.error, 2)) for pace in order.paces)


def counted(number: int | None) -> str:
    """A large number with a unit.

    >>> counted(35_746_307)
    '35.7 M'
    """
    if number is None:
        return UNKNOWN
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
