"""Start or resume a sweep: one writer, one specification, and known results are recorded first."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ...errors import InputError
from ...execution.engines import Engine, check_engine, make_engine
from ...storage.files import writing
from ..describe.plan import Planned, as_stored, plan_trials, versions
from ..describe.specification import Specification, load_specification
from ..store.database import Store, read_facts, read_rows, set_aside
from ..store.known_results import index_files, renew, take_over
from ..store.layout import Layout
from ..store.outcome import Conditions
from ..store.results import Results, load_results
from ..store.rows import PENDING, DamagedError
from ..store.sweep_facts import facts_of, refuse_other
from ..store.table import read_csv
from .calibration import Estimate, estimate
from .check_trials import check_trials
from .driver import RETRIES, Driver, Progress

#: What trials need; importing torch takes seconds.
PRELOADED = ("sads.specs.rotations", "sads.distances", "sads.learning")


def run_sweep(
    specification: str | Path | Specification,
    out: str | Path,
    *,
    engine: str | Engine = "local",
    workers: int | None = None,
    device: str = "cpu",
    threads: int = 1,
    retries: int = RETRIES,
    retry_failed: bool = False,
    seed_from: str | Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Results:
    """Run the trials of a sweep that have no result yet.

    Args:
        specification: a TOML file or its content.
        out: directory of the sweep; a sweep that is already there is resumed.
        engine: `local`, `dask`, `dask:ADDRESS` or an engine.
        workers: trials at once; by default the cores of this machine, or the threads of the
            scheduler.
        device: `cpu` or `cuda`.
        threads: torch threads of each trial; the bits of the results depend on it.
        retries: further attempts of a trial that fails or loses its worker.
        retry_failed: run failed and quarantined trials again.
        seed_from: a CSV of results; trials in it are not computed again.
        on_progress: called with the progress a few times a second.

    Returns:
        the results of the sweep; `statuses` says how many trials are `done`, `failed` or
        `quarantined`.

    Raises:
        SadsError: for bad input, a directory in use, another sweep in it, or a full disk.
        KeyboardInterrupt: after Ctrl-C; all finished trials are recorded.

    >>> import sads, tempfile
    >>> grid = {"networks": ["mlp"], "shape": "1x4x4", "data": ["rank-one:dct:3"]}
    >>> sweep = sads.Specification.model_validate(
    ...     {"protocol": "smoke", "seeds": [0], "grid": [grid]}
    ... )
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     results = sads.run_sweep(sweep, directory, workers=1)
    >>> results.statuses
    Counter({'done': 1})
    """
    if isinstance(engine, str):
        check_engine(engine, workers)
    if engine == "local" and device != "cpu":
        from ...devices import usable_device  # torch takes seconds to load

        usable_device(device)  # elsewhere only the workers know
    if retries < 0:
        raise InputError(f"retries are 0 or more, got {retries}")
    asked = _specification(specification)
    plan = plan_trials(asked)
    layout = Layout(Path(out))
    plan = _checked(layout, asked, plan)
    wanted = {own.id: own.trial for planned in plan for own in versions(planned)}
    imported = read_csv(Path(seed_from), wanted) if seed_from else []
    with writing(layout.root), closing(_opened(layout, asked, plan)) as store:
        index_files(store)
        take_over(store, plan, imported)
        plan = renew(store, plan)
        if retry_failed:
            store.forgive()
        if PENDING in store.statuses().values():
            with _running(engine, workers, device, layout.log) as place:
                Driver(
                    store,
                    {planned.id: planned.trial for planned in plan},
                    place,
                    Conditions(device=device, threads=threads, keep=asked.keep),
                    retries=retries,
                    on_progress=on_progress,
                ).run()
    return load_results(layout.root)


def dry_run(
    specification: str | Path | Specification,
    out: str | Path | None = None,
    *,
    engine: str = "local",
    workers: int | None = None,
    device: str = "cpu",
) -> tuple[list[Planned], Estimate]:
    """The trials that `run_sweep` would run, and how long they would take; writes nothing."""
    plan = plan_trials(_specification(specification))
    layout = None if out is None else Layout(Path(out))
    if layout is None or read_facts(layout) is None:
        pending = check_trials(plan)
    else:
        pending = _pending(layout, _checked(layout, _specification(specification), plan))
    with _running(engine, workers, device, None) as place:
        return pending, estimate(pending, place)


def _pending(layout: Layout, plan: list[Planned]) -> list[Planned]:
    status = {row["id"]: row["status"] for row in read_rows(layout.root)[1]}
    stored = as_stored(plan, status)
    return [p for p, own in zip(plan, stored, strict=True) if status[own.id] == PENDING]


def _specification(source: str | Path | Specification) -> Specification:
    return source if isinstance(source, Specification) else load_specification(source)


@contextmanager
def _running(
    engine: str | Engine, workers: int | None, device: str, log: Path | None
) -> Iterator[Engine]:
    if isinstance(engine, Engine):
        yield engine
        return
    place = make_engine(engine, workers=workers, device=device, log=log, preload=PRELOADED)
    try:
        yield place
    finally:
        place.close()


def _checked(layout: Layout, asked: Specification, plan: list[Planned]) -> list[Planned]:
    """The checked plan; that of a sweep that exists was checked when it began."""
    try:
        known = read_facts(layout)
    except DamagedError:
        known = None  # it is made again once this process holds the lock of the directory
    if known is None:
        return check_trials(plan)
    refuse_other(layout, known, facts_of(asked, as_stored(plan, known["trials"])))
    return plan


def _opened(layout: Layout, asked: Specification, plan: list[Planned]) -> Store:
    try:
        store = Store(layout)
    except DamagedError:
        set_aside(layout)
        files = {path.stem for path in layout.results.glob("*.json")}
        store, plan = Store(layout), check_trials(as_stored(plan, files))
    try:
        if store.new:
            store.create(plan, facts_of(asked, plan))
        # Another driver may have come and gone before we had the lock.
        known = read_facts(layout) or {"trials": ()}
        refuse_other(layout, known, facts_of(asked, as_stored(plan, known["trials"])))
    except BaseException:
        store.close()
        raise
    return store
