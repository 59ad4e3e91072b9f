"""How a geometry or a sweep that is running stands, read from its directory without touching it."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from .errors import ArtefactError
from .sweep.layout import Layout
from .sweep.store import DONE, FAILED, PENDING, QUARANTINED, read_rows
from .sweep.summary import named, span

GEOMETRY = "geometry.safetensors"
LARGEST = 1024  # rows of a factor whose error is computed at every look
SHOWN = 6


@dataclass(frozen=True)
class Standing:
    """How a run stands.

    Attributes:
        title: what runs.
        rows: names and values.
        finished: whether there is nothing left to do.
        running: whether a process is writing to it; None where that cannot be told.
    """

    title: str
    rows: tuple[tuple[str, str], ...]
    finished: bool
    running: bool | None


def look(directory: str | Path) -> Standing:
    """How the geometry or the sweep in a directory stands now.

    Raises:
        ArtefactError: if there is neither.
    """
    place = Path(directory)
    if (place / GEOMETRY).is_file():
        return _geometry(place)
    if Layout(place).database.is_file():
        return _sweep(place)
    if held(place / ".lock"):
        return Standing(str(place), (("state", "nothing stored yet"),), False, True)
    raise ArtefactError(
        f"neither a geometry nor a sweep in {directory}: expected {GEOMETRY} or "
        f"{Layout(place).database.name}"
    )


def held(lock: Path) -> bool | None:
    """Whether a process holds a lock file; asked of the kernel, since trying would disturb it."""
    try:
        known, inode = Path("/proc/locks").read_text(), lock.stat().st_ino
    except OSError:
        return False if not lock.exists() else None
    # 1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE START END
    words = (line.split() for line in known.splitlines() if "FLOCK" in line)
    return any(word.endswith(f":{inode}") for line in words for word in line)


def _geometry(place: Path) -> Standing:
    from .geometry import load_geometry  # torch takes seconds to load

    geometry = load_geometry(place)
    state, running = geometry.state, held(place / ".lock")
    rows = [
        ("state", _state(state.finished, running)),
        ("networks", "none: a closed form" if geometry.exact else f"{geometry.networks:,}"),
        ("time spent", span(state.seconds)),
    ]
    if not geometry.exact and state.seconds > 0:
        rows.append(("networks a second", f"{geometry.networks / state.seconds:,.0f}"))
    known = bool(state.counts.all()) and geometry.structure.rows <= LARGEST
    if known and geometry.whitened_error is not None:
        rows.append(("whitened error", f"{geometry.whitened_error:.2g}"))
        rows.append(("certified", f"{geometry.spectrum().certified_share():.1%} of directions"))
    rows.append(("last stored", _ago(time.time() - (place / GEOMETRY).stat().st_mtime)))
    return Standing(f"geometry of {geometry.plan.network}", tuple(rows), state.finished, running)


def _sweep(place: Path) -> Standing:
    _, trials = read_rows(place)
    counts = Counter(row["status"] for row in trials)
    running, finished = held(place / ".lock"), not counts[PENDING]
    done = [row for row in trials if row["status"] == DONE]
    rows = [
        ("state", _state(finished, running)),
        ("done", f"{counts[DONE]:,} of {len(trials):,}"),
        ("failed", f"{counts[FAILED] + counts[QUARANTINED]:,}"),
    ]
    if done:
        seconds = [_seconds(row) for row in done]
        rows.append(("a trial takes", span(sum(seconds) / len(seconds))))
    left = _seconds_left(done, counts[PENDING])
    if left is not None and not finished:
        rows.append(("time left", f"about {span(left)} at the pace so far"))
    busy = {path.name for path in (place / "work").glob("*")} if not finished else set()
    rows += [("under way", named(row)) for row in trials if row["id"] in busy][:SHOWN]
    rows += [("last done", f"{named(row)}: SW2 {row['sw2']:.3g}") for row in _latest(done)]
    problems = [row for row in trials if row["status"] in (FAILED, QUARANTINED)]
    rows += [(row["status"], f"{named(row)}: {row['error']}") for row in problems[:SHOWN]]
    return Standing(f"sweep in {place}", tuple(rows), finished, running)


def _state(finished: bool, running: bool | None) -> str:
    if finished:
        return "finished"
    if running is None:
        return "not finished; whether it runs cannot be told here"
    return "running" if running else "stopped; the same command goes on"


def _seconds(row: dict[str, Any]) -> float:
    parts = ("train_seconds", "sample_seconds", "distance_seconds")
    return sum(row[name] or 0.0 for name in parts)


def _latest(done: Sequence[dict[str, Any]], most: int = 3) -> list[dict[str, Any]]:
    return sorted(done, key=lambda row: row["finished"] or "", reverse=True)[:most]


def _seconds_left(done: Sequence[dict[str, Any]], pending: int) -> float | None:
    """From the times at which trials were finished; None for fewer than three."""
    times = sorted(datetime.fromisoformat(r["finished"]).timestamp() for r in done if r["finished"])
    if len(times) < 3:
        return None
    return pending * (times[-1] - times[0]) / (len(times) - 1)


def _ago(seconds: float) -> str:
    return f"{span(max(seconds, 0.0))} ago"
