"""What a sweep knows, in SQLite: trials, status, metrics, timings, provenance.

Only the driver writes; any number of processes may read at the same time (write-ahead log). A trial
is recorded in one transaction, whole or not at all. If a power cut takes the last transactions,
nothing is lost: every result is also a file on disk, and the next driver records those it does not
know. A damaged database is refused (see `rows`); the next driver makes it again from those files.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import ArtefactError
from ...storage.sealed import SEAL, expect
from ..describe.plan import Planned
from ..describe.trial import Trial
from .layout import Layout
from .outcome import TrialResult
from .rows import (
    DONE,
    FAILED,
    NUMBERS,
    PENDING,
    PROVENANCE,
    QUARANTINED,
    read_sealed_facts,
    seal_facts,
    seal_rows,
    translated,
    verified,
)

VERSION = 4
# Columns that came after the first version: older databases are given those that they lack.
_ADDED = {SEAL: "TEXT", "moments": "TEXT"} | dict.fromkeys(NUMBERS, "REAL")
_SCHEMA = f"""
CREATE TABLE sweep (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE trials (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    trial TEXT NOT NULL,
    place TEXT,
    status TEXT NOT NULL DEFAULT '{PENDING}',
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    {", ".join(f"{name} REAL" for name in NUMBERS)},
    moments TEXT,
    code TEXT,
    artefact TEXT,
    provenance TEXT,
    {SEAL} TEXT
) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
"""


class Store:
    """The database of a sweep for its driver; everybody else uses `read_rows`."""

    def __init__(self, layout: Layout):
        self.layout = layout
        with translated(layout.database):
            self._connection = _connect(layout.database, "rwc")
            try:
                known = _check_version(self._connection, layout.database)
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                if known:
                    verified(self._connection, known)
                    self._add_columns(known)
            except BaseException:
                self._connection.close()
                raise

    @property
    def new(self) -> bool:
        """Whether nothing has been stored yet."""
        with translated(self.layout.database):
            return _check_version(self._connection, self.layout.database) == 0

    def create(self, plan: Iterable[Planned], facts: dict[str, Any]) -> None:
        """Store the trials of a sweep and some facts about it in one transaction."""
        rows = [
            (p.id, i, p.trial.model_dump_json(), p.place.model_dump_json() if p.place else None)
            for i, p in enumerate(plan)
        ]
        with self._transaction() as run:
            for statement in _SCHEMA.split(";\n"):
                run.execute(statement)
            run.executemany(
                "INSERT INTO trials (id, number, trial, place) VALUES (?, ?, ?, ?)", rows
            )
            known = [(key, json.dumps(value, sort_keys=True)) for key, value in facts.items()]
            run.executemany("INSERT INTO sweep VALUES (?, ?)", known)
            seal_facts(run)
            seal_rows(run)

    def _add_columns(self, known: int) -> None:
        """Give a database of an older version the columns that have been added since."""
        columns = self._connection.execute("PRAGMA table_info(trials)").fetchall()
        missing = _ADDED.keys() - {column[1] for column in columns}
        if not missing and known == VERSION:
            return
        with self._transaction() as run:
            for name in sorted(missing):
                run.execute(f"ALTER TABLE trials ADD COLUMN {name} {_ADDED[name]}")
            run.execute(f"PRAGMA user_version = {VERSION}")
            seal_facts(run)
            seal_rows(run)

    def statuses(self) -> dict[str, str]:
        """The status of every trial, in the order in which they run."""
        with translated(self.layout.database):
            select = "SELECT id, status FROM trials ORDER BY number"
            return dict(self._connection.execute(select).fetchall())

    def record(self, results: Iterable[TrialResult]) -> None:
        """Record results; a result that is already known stays as it is."""
        rows = [_values(result) for result in results]
        columns = (*NUMBERS, "moments", "code", "artefact", "provenance", "attempts")
        update = (
            f"UPDATE trials SET status = '{DONE}', error = NULL, "
            f"{', '.join(f'{c} = :{c}' for c in columns)} WHERE id = :id AND status != '{DONE}'"
        )
        with self._transaction() as run:
            run.executemany(update, rows)
            seal_rows(run, [row["id"] for row in rows])

    def rename(self, trials: Mapping[str, Planned]) -> None:
        """Replace trials without a result by other versions of them."""
        update = f"UPDATE trials SET id = ?, trial = ? WHERE id = ? AND status != '{DONE}'"
        with self._transaction() as run:
            run.executemany(
                update, [(p.id, p.trial.model_dump_json(), old) for old, p in trials.items()]
            )
            known = [row[0] for row in run.execute("SELECT id FROM trials ORDER BY id")]
            run.execute("UPDATE sweep SET value = ? WHERE key = 'trials'", (json.dumps(known),))
            seal_facts(run)
            seal_rows(run, [planned.id for planned in trials.values()])

    def give_up(self, identity: str, status: str, error: str, attempts: int) -> None:
        """Record that a trial failed, or is quarantined."""
        with self._transaction() as run:
            run.execute(
                "UPDATE trials SET status = ?, error = ?, attempts = ? WHERE id = ? "
                f"AND status != '{DONE}'",
                (status, error, attempts, identity),
            )
            seal_rows(run, [identity])

    def forgive(self) -> int:
        """Queue failed and quarantined trials again, and return their number."""
        with self._transaction() as run:
            forgiven = run.execute(
                "UPDATE trials SET status = ?, error = NULL, attempts = 0 WHERE status IN (?, ?)",
                (PENDING, FAILED, QUARANTINED),
            ).rowcount
            seal_rows(run)
            return forgiven

    def close(self) -> None:
        """Close the database; the write-ahead log is merged and removed."""
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with translated(self.layout.database):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _values(result: TrialResult) -> dict[str, Any]:
    return (
        result.metrics.model_dump()
        | result.timings.model_dump()
        | {
            "id": result.id,
            "moments": json.dumps([moment.model_dump() for moment in result.moments]),
            "code": result.code,
            "artefact": result.artefact,
            "provenance": result.provenance.model_dump_json(),
            "attempts": result.attempt,
        }
    )


def read_facts(layout: Layout) -> dict[str, Any] | None:
    """The facts of a sweep; None if there is none yet."""
    if not layout.database.is_file():
        return None
    with _reading(layout.database) as connection:
        version = _check_version(connection, layout.database)
        return read_sealed_facts(connection, version) if version else None


def read_rows(out: str | Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The facts of a sweep and a row for each trial, sorted by id; safe while it runs.

    Raises:
        ArtefactError: if there is no sweep, a newer version wrote it, or it is damaged.
    """
    path = Layout(Path(out)).database
    if not path.is_file():
        raise ArtefactError(f"no sweep in {out}: expected {path.name} (sads sweep makes one)")
    with _reading(path) as connection:
        version = _check_version(connection, path)
        if version == 0:
            raise ArtefactError(f"the sweep in {out} has not begun: run sads sweep")
        facts, rows = verified(connection, version)
        return facts, [_row(row) for row in rows]


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that sees one state of the database and cannot change it."""
    with translated(path):
        # A reader creates shared memory beside the file unless a writer, perhaps of another user,
        # has done so. If it may not create it and there is no log, nobody is writing.
        log = path.with_name(f"{path.name}-wal")
        usual = os.access(path.parent, os.W_OK) or log.exists()
        connection = _connect(path, "ro" if usual else "ro&immutable=1")
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A row without nesting, except for the protocol: id, status, metrics, fields of the trial."""
    # The model gives older rows the fields that were added later.
    trial = Trial.model_validate_json(row["trial"]).model_dump(mode="json")
    place, provenance = json.loads(row["place"] or "{}"), json.loads(row["provenance"] or "{}")
    numbers = {name: row.get(name) for name in NUMBERS}
    if numbers["projections"] is not None:
        numbers["projections"] = int(numbers["projections"])
    return (
        {name: row[name] for name in ("id", "status")}
        | {name: numbers.pop(name) for name in ("sw2", "msw2")}
        | trial
        | {"spectrum": place.get("geometry")}
        | {f"band_{name}": place.get(name) for name in ("first", "last")}
        | {name: place.get(name) for name in ("eigenvalue", "certified", "window")}
        | {name: row[name] for name in ("attempts", "error")}
        | numbers
        | {"moments": json.loads(row.get("moments") or "[]")}
        | {name: row[name] for name in ("code", "artefact")}
        | {name: provenance.get(name) for name in PROVENANCE}
    )


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    name = f"{path.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(name, uri=True, timeout=30, isolation_level=None)


def _check_version(connection: sqlite3.Connection, path: Path) -> int:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if not 0 <= version <= VERSION:
        raise ArtefactError(
            f"{path} was written by a newer version of sads (format {version}, this one reads "
            f"{VERSION}): upgrade sads, or choose another directory"
        )
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    expect(bool(version) == bool(tables), "tables and a version, or neither")
    return version


def set_aside(layout: Layout) -> None:
    """Rename a damaged database to make room for a new one; the caller holds the lock."""
    for path in layout.root.glob(f"{layout.database.name}*"):
        if not path.name.endswith(".damaged"):
            path.replace(path.with_name(f"{path.name}.damaged"))
