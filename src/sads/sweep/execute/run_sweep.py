"""Start or resume a sweep: one writer, one specification, and everything known taken in first."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ...errors import ArtefactError, InputError
from ...execution.engines import Engine, check_engine, make_engine
from ...storage.files import atomic_write, write_bytes, writing
from ...version import code_version
from ..describe.plan import Planned, as_stored, named_files, plan_trials, versions
from ..describe.specification import Specification, load_specification
from ..store.database import Store, read_facts, read_rows, set_aside
from ..store.layout import Layout, settle
from ..store.outcome import TrialResult, read_result
from ..store.rows import DONE, PENDING, DamagedError
from ..store.table import read_csv
from .calibration import Estimate, estimate
from .check_trials import check_trials
from .driver import RETRIES, Driver, Progress


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
) -> Counter[str]:
    """Run the trials of a sweep that have no result yet.

    Args:
        specification: a TOML file or its content.
        out: directory of the sweep; a sweep that is there already is resumed.
        engine: `local`, `dask`, `dask:ADDRESS` or an engine.
        workers: trials at once; by default the cores of this machine, or the scheduler's threads.
        device: `cpu` or `cuda`.
        threads: torch threads of each trial; the bits of the results depend on it.
        retries: further attempts of a trial that fails or loses its worker.
        retry_failed: run failed and quarantined trials again.
        seed_from: a CSV of results; trials that it has are not computed again.
        on_progress: called with the progress a few times a second.

    Returns:
        the number of trials of each status: `done`, `failed`, `quarantined`.

    Raises:
        SadsError: for bad input, a directory in use, another sweep there, or a full disk.
        KeyboardInterrupt: after Ctrl-C; everything finished is recorded.
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
        _give_files(layout, imported)
        plan = renew(store, plan)
        if retry_failed:
            store.forgive()
        if PENDING not in store.statuses().values():
            return Counter(store.statuses().values())
        with _running(engine, workers, device, layout.log) as place:
            trials = {p.id: p.trial for p in plan}
            options = {"keep": asked.keep, "device": device, "threads": threads}
            driver = Driver(
                store, trials, place, retries=retries, on_progress=on_progress, **options
            )
            return driver.run()


def _give_files(layout: Layout, imported: list[TrialResult]) -> None:
    """Keep results from a table as files too, so that the database can be made again from them."""
    layout.results.mkdir(exist_ok=True)
    for result in imported:
        if not layout.result(result.id).exists():
            atomic_write(layout.result(result.id), write_bytes(result.sealed()))


def dry_run(
    specification: str | Path | Specification,
    out: str | Path | None = None,
    *,
    engine: str = "local",
    workers: int | None = None,
    device: str = "cpu",
) -> tuple[list[Planned], Estimate]:
    """The trials that `run_sweep` would run, and what they would take; writes nothing."""
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
    place = make_engine(engine, workers=workers, device=device, log=log)
    try:
        yield place
    finally:
        place.close()


def _checked(layout: Layout, asked: Specification, plan: list[Planned]) -> list[Planned]:
    """The plan for a new sweep; for a known one it has been checked already."""
    try:
        known = read_facts(layout)
    except DamagedError:
        known = None  # made again once this process has the directory for itself
    if known is None:
        return check_trials(plan)
    _refuse_other(layout, known, _facts(asked, as_stored(plan, known["trials"])))
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
            store.create(plan, _facts(asked, plan))
        # Another driver may have come and gone before we had the lock.
        known = read_facts(layout) or {"trials": ()}
        _refuse_other(layout, known, _facts(asked, as_stored(plan, known["trials"])))
    except BaseException:
        store.close()
        raise
    return store


def _refuse_other(layout: Layout, known: dict[str, Any], asked: dict[str, Any]) -> None:
    if known["trials"] != asked["trials"]:
        raise ArtefactError(
            f"{layout.root} holds another sweep ({'; '.join(_differences(known, asked))}): choose "
            f"another --out; to take over what is known, sads results {layout.root} --csv "
            "known.csv and then --from known.csv"
        )


def _facts(asked: Specification, plan: list[Planned]) -> dict[str, Any]:
    return {
        "specification": asked.model_dump(mode="json"),
        "files": named_files(plan),
        "code": code_version(),
        "trials": sorted(p.id for p in plan),
    }


def _differences(known: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    """What differs, as `key was X, now Y`."""
    old, new = _flat(known["specification"]), _flat(asked["specification"])
    found = [
        f"{key} was {_short(old.get(key))}, now {_short(new.get(key))}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    ]
    changed = [p for p, d in asked["files"].items() if known["files"].get(p, d) != d]
    found += [f"the content of {path} has changed" for path in changed]
    return found[:4] or ["its trials were identified differently"]


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Nested tables as one, with names like `grid 1 networks`."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        items = ((str(i), part) for i, part in enumerate(value, start=1))
    else:
        return {name: value}
    return {k: v for key, part in items for k, v in _flat(part, f"{name} {key}".strip()).items()}


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:56]} ..."


def take_over(store: Store, plan: list[Planned], results: Iterable[TrialResult]) -> None:
    """Record results from elsewhere, of the newest version of the draws that there is for each."""
    known = {result.id: result for result in results}
    stored = as_stored(plan, store.statuses())
    pairs = [
        (old.id, found)
        for old, planned in zip(stored, plan, strict=True)
        if (found := next((own for own in versions(planned) if own.id in known), None))
    ]
    if others := {old: found for old, found in pairs if old != found.id}:
        store.rename(others)
    store.record([known[found.id] for _, found in pairs])


def renew(store: Store, plan: list[Planned]) -> list[Planned]:
    """The trials of a store, after those of older draws that have no result were begun anew."""
    status = store.statuses()
    pairs = list(zip(as_stored(plan, status), plan, strict=True))
    older = {old.id: new for old, new in pairs if old.id != new.id and status[old.id] != DONE}
    if older:
        store.rename(older)
        for identity in older:
            shutil.rmtree(store.layout.work(identity), ignore_errors=True)
    return [old if status[old.id] == DONE else new for old, new in pairs]


def index_files(store: Store) -> None:
    """Record results that workers wrote and no driver lived to see, and clear up behind them."""
    layout, status = store.layout, store.statuses()
    found = []
    for path in sorted(layout.results.glob("*.json")):
        if status.get(path.stem, DONE) == DONE:
            continue
        try:
            result = read_result(path)
        except ArtefactError:
            path.unlink()  # damaged by something else than us: the trial is run again
            continue
        if result.artefact and not layout.artefact(result.artefact).is_file():
            path.unlink()  # a power cut took its artefact
            continue
        found.append(result)
    settle(layout)
    store.record(found)
    done = {i for i, s in status.items() if s == DONE} | {result.id for result in found}
    for work in (layout.root / "work").glob("*"):
        if work.name in done:
            shutil.rmtree(work, ignore_errors=True)
