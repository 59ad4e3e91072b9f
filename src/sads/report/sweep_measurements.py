"""What a sweep has measured along the directions of a geometry, and samples under rotations."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArtefactError, InputError
from ..presentation.numbers import counted, with_error
from ..presentation.sweep import correlation_sentence, sentences
from ..specs import DataSpec
from ..specs.digests import geometry_digest
from ..statistics.means import mean_and_error
from ..sweep.correlation import correlate
from ..sweep.store.database import DONE, PENDING, read_rows
from ..sweep.store.layout import Layout, read_published
from .pictures import samples_picture
from .subjects import Measured, Named

METRIC = "msw2"
SHOWN = 16  # samples of each sheet
SHEETS = 12
NOT_ROTATED = "not rotated"
ROTATIONS = ("identity", "min", "max", "random")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Sheet:
    """Some samples of one training, as a picture."""

    title: str
    note: str
    picture: str


@dataclass(frozen=True)
class SweepReading:
    """What a report says about a sweep.

    Attributes:
        directory: the directory of the sweep.
        finished: whether all trials have run.
        lines: the number of trials in each state, and what went wrong.
        correlations: whether MSW2 follows the eigenvalues.
        sheets: samples of trainings on images.
    """

    directory: str
    finished: bool
    lines: tuple[str, ...]
    correlations: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    rows: Sequence[Row]


def read_sweep(directory: Path) -> SweepReading:
    """Read a sweep, finished or still running.

    Raises:
        ArtefactError: if there is none.
    """
    _, rows = read_rows(directory)
    done = [row for row in rows if row["status"] == DONE]
    try:
        correlations = tuple(map(correlation_sentence, correlate(rows, METRIC)))
    except InputError:  # too few bands for a correlation
        correlations = ()
    finished = all(row["status"] != PENDING for row in rows)
    lines, sheets = tuple(sentences(rows)), _sheets(Layout(directory), done)
    return SweepReading(str(directory), finished, lines, correlations, sheets, done)


def measured_along(reading: SweepReading, named: Named) -> tuple[Measured, ...]:
    """MSW2 of the geometry's own network along its bands, under the protocol with most trials."""
    digest = geometry_digest(named.directory)
    protocols: dict[str, list[Row]] = defaultdict(list)
    for row in reading.rows:
        own = row["network"] == named.geometry.plan.network and row["rotation"] == "identity"
        if own and row["spectrum"] == digest and row[METRIC] is not None:
            protocols[json.dumps(row["protocol"], sort_keys=True)].append(row)
    if not protocols:
        return ()
    by_band: dict[tuple[int, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in max(protocols.values(), key=len):
        by_band[row["band_first"], row["band_last"]][row["seed"]].append(row[METRIC])
    return tuple(_over_seeds(band, seeds) for band, seeds in sorted(by_band.items()))


def _over_seeds(band: tuple[int, int], seeds: Mapping[int, Sequence[float]]) -> Measured:
    mean, error = mean_and_error([float(np.mean(values)) for values in seeds.values()])
    return Measured(*band, mean, error, len(seeds))


def _sheets(layout: Layout, rows: Sequence[Row]) -> tuple[Sheet, ...]:
    """One sheet for each network, data and rotation; synthetic directions are left out."""
    groups: dict[tuple, list[Row]] = defaultdict(list)
    for row in rows:
        if row["sw2"] is not None and not DataSpec.parse(row["data"]).synthetic:
            protocol = json.dumps(row["protocol"], sort_keys=True)
            key = (row["network"], row["data"], row["rotation"], row["rank"], protocol)
            groups[key].append(row)
    sheets = []
    for (network, data, rotation, rank, _), members in sorted(groups.items(), key=_order):
        picture = next(filter(None, (_samples(layout, row) for row in members)), None)
        if picture is None:
            continue
        sw2 = with_error(*mean_and_error([row["sw2"] for row in members]), 3)
        turned = rotation if rank is None else f"{rotation} of rank {rank}"
        note = f"{network} on {data}; SW2 {sw2}, {counted(len(members), 'seed')}"
        sheets.append(Sheet(_title(turned), note, picture))
    return tuple(sheets[:SHEETS])


def _order(item: tuple[tuple, list[Row]]) -> tuple:
    """A key that sorts by network and data, then the identity first, stored rotations last."""
    network, data, rotation, rank, protocol = item[0]
    known = ROTATIONS.index(rotation) if rotation in ROTATIONS else len(ROTATIONS)
    return network, data, protocol, known, rotation, rank or 0


def _samples(layout: Layout, row: Row) -> str | None:
    """The picture of a trial's first samples; None if they were not kept or are not images."""
    if not row["artefact"]:
        return None
    try:
        samples = read_published(layout, row["artefact"])["samples"]
    except (ArtefactError, KeyError):
        return None
    return samples_picture(samples[:SHOWN]) if samples.ndim == 4 else None


def training_sheet(directory: Path, *, steps: int = 50) -> Sheet:
    """Samples of a stored training, drawn now and turned back to image space.

    Raises:
        ArtefactError: if there is no training.
        InputError: if its samples are no images.
    """
    from ..diffusion import samples_of
    from ..specs.coercion import as_trained

    trained = as_trained(directory)
    header = trained.run.header(trained.family)
    if len(header.shape) != 3:
        raise InputError(f"{directory} was not trained on images: no samples to show")
    kind = "identity" if trained.rotation is None else trained.rotation.origin.kind
    samples = np.concatenate([part.numpy() for part in samples_of(trained, SHOWN, steps=steps)])
    done = f"{header.step:,} training steps"
    if header.unfinished:
        done = f"unfinished, {header.step:,} of {header.settings.iterations:,} training steps"
    note = f"{header.network}, {done}, {steps} sampling steps ({directory})"
    return Sheet(_title(kind), note, samples_picture(samples))


def _title(turned: str) -> str:
    return NOT_ROTATED if turned == "identity" else f"rotation {turned}"
