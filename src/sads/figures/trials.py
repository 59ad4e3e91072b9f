"""The trials behind a figure: geometries and sweeps in its directory, which resume by themselves.

Every part of a figure (a network, a basis, a dataset) is a sweep of its own, so that parts can be
made one after the other and nothing is computed twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import SadsError
from ..execution.engines import Engine, make_engine
from ..geometry import Geometry, estimate_geometry
from ..presentation.numbers import span
from ..specs import DataSpec
from ..specs.coercion import as_family
from ..sweep import Specification, run_sweep
from ..sweep.execute.driver import Progress
from ..sweep.execute.run_sweep import PRELOADED
from ..sweep.store.database import DONE, read_rows
from ..sweep.store.layout import Layout, read_published
from .data import Request, Row

Protocol = str | Mapping[str, Any]  # a preset, or its fields

SMALL_UNET = "iddpm-16,channels=8,groups=8,mults=1x1"
SHORT: Mapping[str, Any] = {
    "preset": "laptop",
    "iterations": 150,
    "batch_size": 64,
    "learning_rate": 1e-3,
    "steps": 30,
    "samples": 300,
}
THREE, FIVE = (0, 1, 2), (0, 1, 2, 3, 4)  # seeds


class UnfinishedError(SadsError):
    """Raised for a figure if some of its trials have no result."""


@dataclass(frozen=True)
class Examined:
    """The network and geometry of a figure that does its own training.

    Attributes:
        network: in the network grammar.
        shape: the shape of one sample.
        networks: untrained networks behind its geometry.
    """

    network: str
    shape: str
    networks: int


@dataclass(frozen=True)
class Setup:
    """The trainings of one network at one scale.

    Attributes:
        network: in the network grammar.
        shape: the shape of one sample; None for the preset's own.
        protocol: how it is trained and sampled.
        seeds: one training each.
        networks: untrained networks behind its geometry; None for the usual tolerance.
        tolerance: the tolerance of its geometry.
    """

    network: str
    shape: str | None
    protocol: Protocol
    seeds: tuple[int, ...]
    networks: int | None = None
    tolerance: float | None = None

    @property
    def protocol_table(self) -> dict[str, Any]:
        """The protocol as a preset with fields that replace its own."""
        own = self.protocol
        return {"preset": own} if isinstance(own, str) else dict(own)

    def geometry(self, request: Request, name: str) -> tuple[str, Geometry]:
        """Its geometry, estimated if it is missing, and the directory as trials name it."""
        place = request.work("geometry", name)
        request.say(f"geometry of {self.network}")
        geometry = estimate_geometry(
            as_family(self.network, shape=self.shape),
            networks=self.networks,
            tolerance=self.tolerance,
            out=place,
        )
        return place.as_posix(), geometry

    def planned(self, *grids: Mapping[str, Any]) -> Specification:
        """The trials of some grids; of their trainings only the samples are kept."""
        common = {"networks": [self.network], "shape": self.shape}
        return Specification.model_validate(
            {
                "protocol": self.protocol,
                "seeds": self.seeds,
                "keep": "samples",
                "grid": [{**common, **grid} for grid in grids],
            }
        )


def run_parts(
    request: Request, folder: str, parts: Mapping[str, Specification]
) -> dict[str, list[dict[str, Any]]]:
    """The finished trials of each part; trials without a result are run first.

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
        raise UnfinishedError(f"{'; '.join(failed)}; retry_failed=True runs them once more")
    return {
        part: [{"part": part} | row for row in read_rows(request.work(folder, part))[1]]
        for part in parts
    }


def _run(
    request: Request, folder: str, part: str, specification: Specification, engine: Engine
) -> str | None:
    """Run the trials of a part, and return what went wrong, if anything."""
    out = request.work(folder, part)

    def report(progress: Progress) -> None:
        left = progress.seconds_left
        known = "" if left is None else f", {span(left)} left"
        done = f"{progress.counts[DONE]:,} of {progress.counts.total():,} trials"
        request.say(f"{folder}, {part}: {done}{known}")

    results = run_sweep(
        specification,
        out,
        engine=engine,
        retry_failed=request.retry_failed,
        seed_from=request.known,
        on_progress=report,
    )
    counts = results.statuses
    if counts.total() == counts[DONE]:
        return None
    missing = counts.total() - counts[DONE]
    return f"{missing} of {counts.total()} trials failed (sads results {out} says why)"


def samples_of(request: Request, folder: str, row: Row) -> np.ndarray | None:
    """The samples that a trial kept; None if its result was taken over from a table."""
    if row["artefact"] is None:
        return None
    return read_published(Layout(request.work(folder, row["part"])), row["artefact"])["samples"]


def index_of(row: Row) -> int:
    """The index of the direction that a trial's data lie along; of a band, its first."""
    indices = DataSpec.parse(row["data"]).indices
    return indices[0] if indices else int(row["band_first"])
