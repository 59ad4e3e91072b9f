"""Trials behind a figure: geometries and sweeps in the figure's directory, resumed by themselves.

Every part of a figure (a network, a basis, a dataset) is a sweep of its own, so that parts can be
made one after the other and nothing is computed twice.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..draws import DRAWS
from ..errors import ArtefactError, SadsError
from ..execution.engines import make_engine
from ..geometry import estimate_geometry
from ..presentation.numbers import span
from ..specs.sources import as_family
from ..storage.files import atomic_write, write_bytes
from ..storage.sealed import seal_json, unseal_json
from ..sweep import Specification, run_sweep
from ..sweep.execute.driver import Progress
from ..sweep.execute.run_sweep import PRELOADED
from ..sweep.store.database import DONE, read_rows
from ..sweep.store.layout import Layout, read_published
from .data import Request


class UnfinishedError(SadsError):
    """A figure whose trials have not all come to a result."""


def geometry_directory(
    request: Request, name: str, network: str, *, shape: str | None = None, **goal: Any
) -> str:
    """The directory of a geometry, estimated if it is not there yet, as trials name it."""
    place = request.work("geometry", name)
    request.say(f"geometry of {network}")
    estimate_geometry(as_family(network, shape=shape), out=place, **goal)
    return place.as_posix()


def planned(
    protocol: str | Mapping[str, Any], seeds: Sequence[int], *grids: Mapping[str, Any]
) -> Specification:
    """The trials of some grids; of what they trained the samples are kept."""
    fields = {"protocol": protocol, "seeds": seeds, "keep": "samples", "grid": grids}
    return Specification.model_validate(fields)


def run_parts(
    request: Request, folder: str, parts: Mapping[str, Specification]
) -> dict[str, list[dict[str, Any]]]:
    """The finished trials of each part; what has no result yet is run first.

    Raises:
        UnfinishedError: if trials failed, after all parts have been run.
    """
    log = request.work(folder)
    log.mkdir(parents=True, exist_ok=True)
    engine = make_engine(
        request.engine, workers=request.workers, log=log / "workers.log", preload=PRELOADED
    )
    try:
        failed = [
            failure
            for part, specification in parts.items()
            if (failure := _run(request, folder, part, specification, engine))
        ]
    finally:
        engine.close()
    if failed:
        raise UnfinishedError(f"{'; '.join(failed)}; --retry-failed runs them once more")
    return {
        part: [{"part": part} | row for row in read_rows(request.work(folder, part))[1]]
        for part in parts
    }


def _run(
    request: Request, folder: str, part: str, specification: Specification, engine: Any
) -> str | None:
    """Run the trials of a part; what is wrong with them, if anything."""
    out = request.work(folder, part)
    results = run_sweep(
        specification,
        out,
        engine=engine,
        retry_failed=request.retry_failed,
        seed_from=request.known,
        on_progress=_progress(request.say, f"{folder}, {part}"),
    )
    counts = results.statuses
    if counts.total() == counts[DONE]:
        return None
    missing = counts.total() - counts[DONE]
    return f"{missing} of {counts.total()} trials failed (sads results {out} says why)"


def _progress(say: Callable[[str], None], title: str) -> Callable[[Progress], None]:
    def report(progress: Progress) -> None:
        left = progress.seconds_left
        known = "" if left is None else f", {span(left)} left"
        done = f"{progress.counts[DONE]:,} of {progress.counts.total():,} trials"
        say(f"{title}: {done}{known}")

    return report


def remembered(
    path: Path, about: Mapping[str, Any], compute: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What was computed before in the same way, or else what is computed now, kept as JSON."""
    way = json.loads(json.dumps({**about, "draws": DRAWS}))
    if path.is_file():
        with suppress(ArtefactError):  # what is damaged is computed again
            kept = unseal_json(path.read_bytes(), path)
            if kept.get("about") == way and isinstance(kept.get("found"), dict):
                return kept["found"]
    found = compute()
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, write_bytes(seal_json({"about": way, "found": found})))
    return found


def samples_of(request: Request, folder: str, row: Mapping[str, Any]) -> np.ndarray | None:
    """The samples that a trial kept; None if its result was taken over from a table."""
    if row["artefact"] is None:
        return None
    return read_published(Layout(request.work(folder, row["part"])), row["artefact"])["samples"]
