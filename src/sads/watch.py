"""The state of a geometry, a training, its monitor or a sweep, read without changing anything."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ArtefactError, SadsError
from .presentation.numbers import span
from .presentation.sweep import named
from .sweep.store.database import read_rows
from .sweep.store.layout import Layout
from .sweep.store.rows import DONE, FAILED, QUARANTINED, TIMINGS

if TYPE_CHECKING:
    from .diffusion import Header

GEOMETRY, TRAINING = "geometry.safetensors", "training.safetensors"
MONITOR = "monitor.safetensors"
DEPTH = 4  # levels of folders that are searched for runs
LARGEST = 1024  # the error of factors of up to so many rows is computed at every look
SHOWN, LATEST = 6, 3  # trials under way or failed that are named, and finished ones


@dataclass(frozen=True)
class Standing:
    """The state of a run.

    Attributes:
        title: the kind of run and its place.
        rows: names and values to show.
        finished: whether there is nothing left to do.
        running: whether a process is writing to it; None where that cannot be told.
        numbers: for a geometry `networks` and `whitened_error`; for a training `step`, `of`,
            `loss`, `steps_a_second` and `seconds_left`; for a monitor `updates`, `learned` and
            `lagging`; for a sweep `done`, `of`, `failed` and `seconds_left`.
        runs: the runs in a folder; empty for a single run.
    """

    title: str
    rows: tuple[tuple[str, str], ...]
    finished: bool
    running: bool | None
    numbers: dict[str, float | None] = field(default_factory=dict)
    runs: tuple["Standing", ...] = ()


def look(directory: str | Path) -> Standing:
    """The state of the run in a directory, or of all runs in a folder.

    Raises:
        ArtefactError: if there is no run.
    """
    place = Path(directory)
    runs = _runs(place)
    if not runs:
        runs = [standing for below in _below(place, DEPTH) for standing in _readable(below)]
        return _folder(place, runs)
    return runs[0] if len(runs) == 1 else _folder(place, runs)


def _runs(place: Path) -> list[Standing]:
    """The runs in the directory itself, finished or not; a training and a geometry may share it."""
    readers = (
        (GEOMETRY, _geometry),
        (TRAINING, _training),
        (MONITOR, _monitor),
        (Layout(place).database.name, _sweep),
    )
    runs = [read(place) for name, read in readers if (place / name).is_file()]
    if not runs and held(place / ".lock"):
        return [Standing(str(place), (("state", "nothing stored yet"),), False, True)]
    return runs


def _readable(place: Path) -> list[Standing]:
    """The runs in one of many directories; a damaged one is listed and does not hide the others."""
    try:
        return _runs(place)
    except SadsError as error:
        return [Standing(str(place), (("state", f"unreadable: {error}"),), True, None)]


def _below(place: Path, depth: int) -> list[Path]:
    """All directories below a place, except those inside a run."""
    try:
        children = sorted(child for child in place.iterdir() if child.is_dir())
    except OSError:
        return []
    directories: list[Path] = []
    for child in children:
        directories.append(child)
        names = (GEOMETRY, TRAINING, MONITOR, Layout(child).database.name)
        if depth > 1 and not any((child / name).is_file() for name in names):
            directories += _below(child, depth - 1)
    return directories


def _folder(place: Path, runs: list[Standing]) -> Standing:
    if not runs:
        raise ArtefactError(
            f"no geometry, training, monitor or sweep in {place}: expected {GEOMETRY}, "
            f"{TRAINING}, {MONITOR} or {Layout(place).database.name} there or in a folder below"
        )
    rows = tuple((run.title, _brief(run)) for run in runs)
    alive = [run.running for run in runs]
    running = True if True in alive else None if None in alive else False
    return Standing(
        f"runs in {place}", rows, all(run.finished for run in runs), running, runs=tuple(runs)
    )


def _brief(run: Standing) -> str:
    """A run in one line: its state and its progress."""
    known = dict(run.rows)
    names = ("state", "networks", "steps", "updates", "done", "time left")
    return ", ".join(
        known[name] if name in ("state", "time left") else f"{name} {known[name]}"
        for name in names
        if name in known
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
    from .presentation.directions import headline
    from .presentation.geometry import networks_behind

    geometry = load_geometry(place)
    state, running = geometry.state, held(place / ".lock")
    rows = [
        ("state", _state(state.finished, running)),
        ("networks", networks_behind(geometry)),
        ("time spent", span(state.seconds)),
    ]
    if not geometry.exact and state.seconds > 0:
        rows.append(("networks a second", f"{geometry.networks / state.seconds:,.0f}"))
    known = bool(state.counts.all()) and geometry.structure.rows <= LARGEST
    error = geometry.whitened_error if known else None
    if error is not None:
        rows.append(("whitened error", f"{error:.2g}"))
        rows.append(("known", headline(geometry.spectrum())))
    rows.append(("last stored", _ago(time.time() - (place / GEOMETRY).stat().st_mtime)))
    title = f"geometry of {geometry.plan.network} in {place}"
    numbers = {"networks": geometry.networks, "whitened_error": error}
    return Standing(title, tuple(rows), state.finished, running, numbers)


@lru_cache(maxsize=64)
def _stored_training(place: Path, changed: int) -> "tuple[Header, float]":
    """The header of a training and its recent mean loss, read once for each stored state."""
    from .diffusion import read_training  # torch takes seconds to load

    header, tensors = read_training(place)
    losses = tensors["losses"]
    return header, float(losses[-max(1, len(losses) // 10) :].mean())


def _training(place: Path) -> Standing:
    status = (place / TRAINING).stat()
    header, loss = _stored_training(place, status.st_mtime_ns)
    running, finished = held(place / ".lock"), not header.unfinished
    age, of = max(0.0, time.time() - status.st_mtime), header.settings.iterations
    pace = header.step / header.seconds if header.seconds > 0 else None
    left = None if finished or not pace else (of - header.step) / pace
    if left is not None and running:
        left = max(0.0, left - age)  # it has continued since it was stored
    rows = [
        ("state", _state(finished, running)),
        ("steps", f"{header.step:,} of {of:,}"),
        ("loss", f"{loss:.4g} (mean of the last tenth)"),
        ("time spent", span(header.seconds)),
    ]
    if pace:
        rows.append(("steps a second", f"{pace:,.3g}"))
    if left is not None:
        rows.append(("time left", f"about {span(left)} at the pace so far"))
    rows.append(("last stored", _ago(age)))
    numbers = {"step": header.step, "of": of, "loss": loss}
    numbers |= {"steps_a_second": pace, "seconds_left": left}
    title = f"training of {header.network} in {place}"
    return Standing(title, tuple(rows), finished, running, numbers)


def _monitor(place: Path) -> Standing:
    from .learning import load_record  # torch takes seconds to load
    from .presentation.training_record import record_sentences

    record, running = load_record(place), held(place / ".lock")
    states = {True: "running", False: "stopped", None: "this system does not show whether it runs"}
    rows = [("state", states[running]), ("updates", f"{record.updates:,}")]
    rows += [
        ("seen" if number == 0 else "", s) for number, s in enumerate(record_sentences(record))
    ]
    rows.append(("last stored", _ago(time.time() - (place / MONITOR).stat().st_mtime)))
    scalars, lags = record.scalars(), record.lagging()
    learned = [value for name, value in scalars.items() if name.startswith("learned/")]
    numbers = {"updates": float(record.updates), "lagging": float(len(lags))}
    usual = sorted(learned)[len(learned) // 2] if learned else None
    # A monitor does not know when its training ends: it is finished when nobody writes to it.
    return Standing(
        f"monitor in {place}", tuple(rows), running is False, running, numbers | {"learned": usual}
    )


def _sweep(place: Path) -> Standing:
    _, trials = read_rows(place)
    done = [row for row in trials if row["status"] == DONE]
    problems = [row for row in trials if row["status"] in (FAILED, QUARANTINED)]
    pending = len(trials) - len(done) - len(problems)
    running, finished = held(place / ".lock"), not pending
    rows = [
        ("state", _state(finished, running)),
        ("done", f"{len(done):,} of {len(trials):,}"),
        ("failed", f"{len(problems):,}"),
    ]
    if done:
        seconds = sum(row[name] or 0.0 for row in done for name in TIMINGS)
        rows.append(("a trial takes", span(seconds / len(done))))
    left = None if finished else _seconds_left(done, pending)
    if left is not None:
        rows.append(("time left", f"about {span(left)} at the pace so far"))
    busy = set() if finished else {path.name for path in (place / "work").glob("*")}
    latest = sorted(done, key=lambda row: row["finished"] or "", reverse=True)[:LATEST]
    rows += [("under way", named(row)) for row in trials if row["id"] in busy][:SHOWN]
    rows += [("last done", f"{named(row)}: SW2 {row['sw2']:.3g}") for row in latest]
    rows += [(row["status"], f"{named(row)}: {row['error']}") for row in problems[:SHOWN]]
    numbers = {"done": len(done), "of": len(trials), "failed": len(problems)}
    return Standing(
        f"sweep in {place}", tuple(rows), finished, running, numbers | {"seconds_left": left}
    )


def _state(finished: bool, running: bool | None) -> str:
    if finished:
        return "finished"
    if running is None:
        return "not finished; this system does not show whether it runs"
    return "running" if running else "stopped; the same command continues it"


def _seconds_left(done: Sequence[dict[str, Any]], pending: int) -> float | None:
    """The time that pending trials will take at the pace of the finished ones.

    None if fewer than three are finished.
    """
    times = sorted(datetime.fromisoformat(r["finished"]).timestamp() for r in done if r["finished"])
    if len(times) < 3:
        return None
    return pending * (times[-1] - times[0]) / (len(times) - 1)


def _ago(seconds: float) -> str:
    return f"{span(max(seconds, 0.0))} ago"
