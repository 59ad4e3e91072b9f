"""Estimating a geometry: the entry points and their options."""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

from ..devices import memory_errors_explained
from ..inspection.subspace_readout import Compressed
from ..inspection.subspaces import Whole
from ..networks import ScoreFamily
from ..probes import Probe, Zero
from ..storage.files import writing
from .artefact import FILE, read_state
from .batch_workers import BatchWorkers, Threads
from .estimators import estimator_of
from .geometry import Geometry
from .goal import Goal
from .plan import Plan
from .run import Progress, estimates, settled
from .source import Source, prepare
from .subspace_choice import Request, UpTo


class PlainOptions(TypedDict, total=False):
    """Options of an estimate, except probe and subspace; all have defaults.

    Attributes:
        networks: stop after this many networks.
        tolerance: stop at this whitened error (0.02, for tangents 0.05, unless `networks` is
            given).
        of: `outputs` (default) for G, `tangent` for the tangent kernel K.
        estimator: `integrated` (default) or `naive`, for outputs.
        weighting: `score` (default) for the paper's geometry, `noise` to weight all timesteps
            equally.
        timesteps: use only those from the first number up to, but not including, the second.
        seed: the seed of all random draws, 0 by default.
        out: directory for the result and for checkpoints; an unfinished run is continued.
        device: `cpu` (default) or a CUDA device.
        zero_output: what to do about networks that output zero at initialisation: `explain`
            (default) stops with the reason, `last` redraws the layer that zeroes the output with
            its own default or sets its gain to one, `all` does so with every zero layer.
        on_progress: called after each batch.
    """

    networks: int | None
    tolerance: float | None
    of: str
    estimator: str | None
    weighting: str
    timesteps: tuple[int, int] | None
    seed: int
    out: str | Path | None
    device: str
    zero_output: str
    on_progress: Callable[[Progress], None] | None


class Options(PlainOptions, total=False):
    """Options of an estimate, with its probe and its subspace.

    Attributes:
        probe: x = 0 by default.
        subspace: the subspace that G is estimated in: `LowFrequencies`, `Adaptive` or `Whole`. By
            default the whole space, or a subspace that fits in memory if the whole does not.
        batch_workers: who computes the batches; threads of this process by default.
        first_look: first yield an estimate from this many networks, which come in small batches.
    """

    probe: Probe
    subspace: Request
    batch_workers: BatchWorkers | None
    first_look: int | None


def estimate_geometry(family: ScoreFamily, **options: Unpack[Options]) -> Geometry:
    """Estimate the average geometry of a family of untrained networks (definition 2).

    Raises:
        InputError: for options that make no sense.
        NetworkError: for networks that have no geometry, with the reason.
        ArtefactError: if `out` cannot be written or holds something else.
    """
    # A star would keep every estimate on the way in memory.
    return deque(running_estimates(family, **options), maxlen=1)[0]


def running_estimates(
    family: ScoreFamily, **options: Unpack[Options]
) -> Generator[Geometry, None, None]:
    """Like `estimate_geometry`, but yields estimates as they improve; the last is the result."""
    with _memory_explained(family):
        yield from _running_estimates(family, **options)


def planned_geometry(family: ScoreFamily, **options: Unpack[Options]) -> Plan:
    """What `estimate_geometry` would do with the same options, without the estimate.

    A few networks are run, to check that they work, how their last layer is read, and which
    precision they need.

    Raises:
        InputError, NetworkError: as `estimate_geometry` would.
    """
    with _memory_explained(family):
        goal, source = _prepared(family, **options)
        return source.plan if source.exact is not None else settled(source, goal).plan


def _memory_explained(family: ScoreFamily) -> AbstractContextManager[None]:
    sizes = "x".join(map(str, family.shape))
    what = f"the geometry of {family.name} on {sizes}"
    return memory_errors_explained(what, "choose a smaller shape, or free some memory")


def _prepared(family: ScoreFamily, **options: Unpack[Options]) -> tuple[Goal, Source]:
    estimator = estimator_of(options.get("of", "outputs"), options.get("estimator"))
    wanted = options.get("networks"), options.get("tolerance")
    goal = Goal.of(*wanted, estimator, options.get("first_look"))
    source = prepare(
        family,
        options.get("probe") or Zero(),
        estimator=estimator,
        weighting=options.get("weighting", "score"),
        timesteps=options.get("timesteps"),
        seed=options.get("seed", 0),
        device=(options.get("batch_workers") or Threads()).here(options.get("device", "cpu")),
        zero_output=options.get("zero_output", "explain"),
        subspace=_subspace(**options),
    )
    return goal, source


def _subspace(**options: Unpack[Options]) -> Request:
    """The subspace that was asked for by name, else that of a geometry that is continued."""
    asked = options.get("subspace")
    if asked is None or isinstance(asked, UpTo):
        return _stored_subspace(options.get("out")) or asked
    return asked


def _stored_subspace(out: str | Path | None) -> Request:
    """The subspace of a geometry that is continued; what fits may have changed since it began."""
    if out is None or not (Path(out) / FILE).exists():
        return None
    readout = read_state(Path(out))[0].readout
    return readout.subspace if isinstance(readout, Compressed) else Whole()


def _running_estimates(family: ScoreFamily, **options: Unpack[Options]) -> Iterator[Geometry]:
    report = options.get("on_progress") or (lambda progress: None)
    out, started = options.get("out"), time.perf_counter()
    report(Progress(0, None, None, "looking at a few networks"))
    with options.get("batch_workers") or Threads() as batch_workers:
        with batch_workers.preparing():
            goal, source = _prepared(family, **options)
        own = source.plan.subspace
        asked = _subspace(**options)
        chosen = own is not None and (asked is None or isinstance(asked, UpTo))

        def tell(progress: Progress) -> None:
            report(replace(progress, subspace=own, chosen=chosen))

        if out is None:
            yield from estimates(source, goal, None, tell, batch_workers, started)
        else:
            with writing(Path(out)):
                yield from estimates(source, goal, Path(out), tell, batch_workers, started)
