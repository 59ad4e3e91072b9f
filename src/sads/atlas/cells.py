"""The cells of an atlas's table in words, for the page and for the documentation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..doctor.finding import SEVERITIES
from ..presentation.numbers import counted as things
from ..presentation.numbers import percentage, span, with_error
from .entries import AtlasEntry
from .paces import ALL, learning_order
from .rows import AtlasRow, BandPicture

LARGE_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
NOTE = SEVERITIES[-1]
MEASURED = ("parameters", "findings", "anisotropy", "last")
UNKNOWN = "not told"
PRECISE = 0.1  # a typical error above which equal paces say little
READ = {
    "convolution": "read exactly",
    "tokens": "read exactly",
    "dense": "read exactly",
    "random": "drawn at random",
    "sampled": "sampled",
}


@dataclass(frozen=True)
class Line:
    """What the table shows about one architecture.

    Attributes:
        entry: its entry in the atlas.
        row: the measurements.
        cells: the words by the name of the column.
        soft: further words below them.
        sort: numbers to sort by, where a column is not sorted by its words.
        loud: findings of the doctor that are more than notes.
        paces: how fast a first step learns each group of directions, the slowest first.
    """

    entry: AtlasEntry
    row: AtlasRow
    cells: dict[str, str]
    sort: dict[str, float]
    soft: dict[str, str] = field(default_factory=dict)
    loud: tuple[str, ...] = ()
    paces: tuple[tuple[str, str], ...] = ()


def lines(entries: Sequence[AtlasEntry], rows: Sequence[AtlasRow]) -> list[Line]:
    """One line for each entry that has been examined, in the order of the atlas."""
    known = {row.slug: row for row in rows}
    return [_line(entry, known[entry.slug]) for entry in entries if entry.slug in known]


def _line(entry: AtlasEntry, row: AtlasRow) -> Line:
    listed = {
        "name": entry.name,
        "kind": entry.kind,
        "published": entry.published,
        "reduced": entry.reduced,
        "shape": entry.shape,
        "seconds": cost_words(row),
    }
    cost = {"seconds": row.seconds if row.processor_seconds is None else row.processor_seconds}
    clock = {"seconds": clock_words(row)}
    if row.failed is not None:
        unknown = dict.fromkeys(MEASURED, UNKNOWN)
        return Line(entry, row, listed | unknown, cost, clock, (f"failed: {row.failed}",))
    loud = tuple(f"{f['severity']}: {f['code']}" for f in row.findings if f["severity"] != NOTE)
    return Line(
        entry,
        row,
        cells=listed | _measured(row, healthy=not loud),
        soft=clock | _explained(row),
        sort=cost | _numbers(row) | {"findings": float(len(loud))},
        loud=loud,
        paces=paces_of(row),
    )


def _measured(row: AtlasRow, *, healthy: bool) -> dict[str, str]:
    summary = row.summary
    effective, error = summary["effective_directions"], summary["effective_directions_error"]
    doctor = _untold(row, "doctor") if "doctor" in summary["untold"] else "healthy" * healthy
    known = effective is not None
    return {
        "parameters": counted(summary["parameters"]),
        "findings": doctor,
        "anisotropy": f"{effective:,.3g} ± {error:.2g}" if known else _untold(row, "geometry"),
        "last": last_words(row),
    }


def _explained(row: AtlasRow) -> dict[str, str]:
    notes = [one["code"] for one in row.findings if one["severity"] == NOTE]
    size = math.prod(row.summary["shape"])
    known = row.summary["effective_directions"] is not None
    return {
        "findings": f"note{'s' * (len(notes) > 1)}: {', '.join(notes)}" if notes else "",
        "anisotropy": f"of {size:,}; {_behind(row)}" if known else "",
        "last": validity_words(row),
    }


def _numbers(row: AtlasRow) -> dict[str, float]:
    effective = row.summary["effective_directions"]
    share = {} if effective is None else {"anisotropy": effective / math.prod(row.summary["shape"])}
    return {"parameters": float(row.summary["parameters"] or 0)} | share


def _untold(row: AtlasRow, part: str) -> str:
    """Why something is unknown, without the network's name, which the row already has."""
    why = row.summary["untold"].get(part, f"no {part}")
    return f"{UNKNOWN}: {why.replace(row.summary['network'], 'it')}"


def _behind(row: AtlasRow) -> str:
    """How the geometry was made."""
    read = READ.get(row.readout or "", row.readout or "in an unknown way")
    where = "" if row.subspace is None else f", in the subspace {row.subspace}"
    return f"{row.summary['networks']} networks, last layer {read}{where}"


def cost_words(row: AtlasRow) -> str:
    """The time that a row took; processor time if it was counted."""
    taken = row.seconds if row.processor_seconds is None else row.processor_seconds
    return f"{'over ' * row.goes_on}{taken:,.0f} s"


def clock_words(row: AtlasRow) -> str:
    """Which clock measured that time."""
    if row.processor_seconds is None:
        return "by the clock"
    return f"of processor time; {row.seconds:,.0f} s by the clock"


def total_cost(rows: Sequence[AtlasRow]) -> str:
    """The time that all rows took together, in a sentence or two."""
    counted_ones = [row.processor_seconds for row in rows if row.processor_seconds is not None]
    others = [row.seconds for row in rows if row.processor_seconds is None]
    parts = []
    if counted_ones:
        clock = span(math.fsum(row.seconds for row in rows if row.processor_seconds is not None))
        parts.append(
            f"{span(math.fsum(counted_ones))} of processor time ({clock} by the clock) for "
            f"{things(len(counted_ones), 'architecture')}"
        )
    if others:
        parts.append(
            f"{span(math.fsum(others))} by the clock for {things(len(others), 'architecture')}"
        )
    return f"In all it took {' and '.join(parts)}." if parts else ""


def last_words(row: AtlasRow) -> str:
    """What is forecast to be learned last, or why nothing is."""
    forecast = row.summary["forecast"]
    if forecast is None:
        return _untold(row, "forecast")
    order = learning_order(forecast)
    if order.has_order:
        return order.paces[0].label
    if not order.relative:
        return f"{UNKNOWN}: the errors are larger than the paces"
    if order.precision > PRECISE:
        return f"{UNKNOWN}: typical errors of {percentage(order.precision)} are too large"
    return f"no order beyond the errors, typically {percentage(order.precision)}"


def validity_words(row: AtlasRow) -> str:
    """How certain that forecast is."""
    forecast = row.summary["forecast"]
    if forecast is None:
        return ""
    order = learning_order(forecast)
    batch = forecast["recipe"]["batch_size"]
    said = f"p = {order.p_value:.2g}, {order.networks} networks, batches of {batch}"
    if not (order.has_order and order.of):
        return said
    which = "small networks" if order.kind == ALL else f"small {order.kind}s"
    return f"{said}; such forecasts were right for {order.right} of {order.of} {which}"


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


def band_words(band: BandPicture) -> str:
    """The caption of a picture."""
    where = f"level {band.first}" if band.first == band.last else f"levels {band.first}-{band.last}"
    return f"{where}, {band.relative:.2g} times the mean eigenvalue"
