"""Results that exist already: in files of the sweep, or in a table of another sweep."""

import shutil
from collections.abc import Iterable

from ...errors import ArtefactError
from ...storage.files import atomic_write, write_bytes
from ..describe.plan import Planned, as_stored, versions
from .database import Store
from .layout import settle
from .outcome import TrialResult, read_result
from .rows import DONE


def take_over(store: Store, plan: list[Planned], results: Iterable[TrialResult]) -> None:
    """Record results of another sweep; of each trial the one with the newest version of the draws.

    They are also written as files, so that the database can be made again from them.
    """
    known = {result.id: result for result in results}
    stored = as_stored(plan, store.statuses())
    newest = [next((o for o in versions(planned) if o.id in known), None) for planned in plan]
    pairs = [(old.id, own) for old, own in zip(stored, newest, strict=True) if own is not None]
    if others := {old: own for old, own in pairs if old != own.id}:
        store.rename(others)
    store.record([known[own.id] for _, own in pairs])
    store.layout.results.mkdir(exist_ok=True)
    for result in known.values():
        if not store.layout.result(result.id).exists():
            atomic_write(store.layout.result(result.id), write_bytes(result.sealed()))


def renew(store: Store, plan: list[Planned]) -> list[Planned]:
    """Restart unfinished trials of older draws with the current ones; return the store's trials."""
    status = store.statuses()
    pairs = list(zip(as_stored(plan, status), plan, strict=True))
    older = {old.id: new for old, new in pairs if old.id != new.id and status[old.id] != DONE}
    if older:
        store.rename(older)
        for identity in older:
            shutil.rmtree(store.layout.work(identity), ignore_errors=True)
    return [old if status[old.id] == DONE else new for old, new in pairs]


def index_files(store: Store) -> None:
    """Record results that workers wrote after their driver had ended, and remove leftovers."""
    layout, status = store.layout, store.statuses()
    results = []
    for path in sorted(layout.results.glob("*.json")):
        if status.get(path.stem, DONE) == DONE:
            continue
        try:
            result = read_result(path)
        except ArtefactError:
            path.unlink()  # it is damaged, so the trial runs again
            continue
        if result.artefact and not layout.artefact(result.artefact).is_file():
            path.unlink()  # its artefact was lost in a power cut
            continue
        results.append(result)
    settle(layout)
    store.record(results)
    done = {i for i, s in status.items() if s == DONE} | {result.id for result in results}
    for work in (layout.root / "work").glob("*"):
        if work.name in done:
            shutil.rmtree(work, ignore_errors=True)
