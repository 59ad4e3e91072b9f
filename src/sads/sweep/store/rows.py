"""Rows of the database of a sweep with checksums, and how damage is found.

Every row has a checksum of its other columns, and so have the facts of the sweep, which name all
trials. So readers notice a changed value, a lost row or a damaged table.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from ...errors import ArtefactError
from ...storage.files import reason
from ...storage.sealed import SEAL, expect, json_digest, parse_json
from ..describe.position import Place
from ..describe.trial import Trial
from .metrics import Metrics, Moment, RiskNumbers
from .outcome import Provenance, Timings

DONE, PENDING, FAILED, QUARANTINED = "done", "pending", "failed", "quarantined"
STATUSES = (DONE, PENDING, FAILED, QUARANTINED)
METRICS = tuple(sorted(Metrics.model_fields, key=lambda name: name in RiskNumbers.model_fields))
TIMINGS = tuple(Timings.model_fields)
PROVENANCE = tuple(Provenance.model_fields)
NUMBERS = (*METRICS, *TIMINGS)

_MOMENTS = TypeAdapter(tuple[Moment, ...])
# Errors that SQLite may also raise for an undamaged database.
_PASSING = ("BUSY", "LOCKED", "FULL", "IOERR", "CANTOPEN", "READONLY", "PERM", "NOMEM", "PROTOCOL")


class DamagedError(ArtefactError):
    """A damaged database; the driver makes it again from the result files."""


def seal_rows(run: sqlite3.Connection, identities: Iterable[str] | None = None) -> None:
    """Update the checksums of rows; of all rows unless some are named."""
    if identities is None:
        rows = _trials(run)
    else:
        rows = [row for identity in identities for row in _trials(run, identity)]
    seals = [(_row_seal(row), row["id"]) for row in rows]
    run.executemany(f"UPDATE trials SET {SEAL} = ? WHERE id = ?", seals)


def _trials(run: sqlite3.Connection, identity: str | None = None) -> list[dict[str, Any]]:
    where, given = ("", ()) if identity is None else (" WHERE id = ?", (identity,))
    # A cursor that met a damaged value keeps its lock for as long as its error is remembered.
    with closing(run.execute(f"SELECT * FROM trials{where} ORDER BY id", given)) as cursor:
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]


def _row_seal(row: dict[str, Any]) -> str:
    return json_digest({name: value for name, value in row.items() if name != SEAL})


def seal_facts(run: sqlite3.Connection) -> None:
    """Update the checksum of the facts of a sweep."""
    facts = _plain_facts(run)
    facts.pop(SEAL, None)
    seal = json.dumps(json_digest(facts))
    run.execute("INSERT OR REPLACE INTO sweep VALUES (?, ?)", (SEAL, seal))


def verified(
    connection: sqlite3.Connection, version: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Facts and raw rows after checking their checksums; the first version has none."""
    facts, rows = read_sealed_facts(connection, version), _trials(connection)
    expect([row["id"] for row in rows] == facts["trials"], "the trials that the sweep names")
    for row in rows:
        if version > 1 or SEAL in row:
            expect(row.pop(SEAL) == _row_seal(row), f"the checksum of the trial {row['id']}")
        _check_row(row)
    return facts, rows


def _check_row(row: dict[str, Any]) -> None:
    expect(row["status"] in STATUSES, f"a status, got {row['status']!r}")
    Trial.model_validate(parse_json(row["trial"]))
    if row["place"] is not None:
        Place.model_validate(parse_json(row["place"]))
    if row["status"] == DONE:
        Metrics.model_validate(known_fields(Metrics, row))
        Timings.model_validate(known_fields(Timings, row))
        Provenance.model_validate(parse_json(row["provenance"]))
        _MOMENTS.validate_python(parse_json(row.get("moments") or "[]"))


def known_fields(model: type[BaseModel], row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a model that a row has; older rows lack the newer fields."""
    required = required_fields(model)
    return {
        name: row.get(name)
        for name in model.model_fields
        if name in required or row.get(name) is not None
    }


def required_fields(model: type[BaseModel]) -> set[str]:
    """The fields that a model had from the start, and that every row therefore has."""
    return {name for name, field in model.model_fields.items() if field.is_required()}


def read_sealed_facts(connection: sqlite3.Connection, version: int) -> dict[str, Any]:
    """The facts of a sweep after checking their checksum; the first version has none."""
    facts = _plain_facts(connection)
    if version > 1 or SEAL in facts:
        expect(facts.pop(SEAL) == json_digest(facts), "the checksum of the sweep's facts")
    return facts


def _plain_facts(connection: sqlite3.Connection) -> dict[str, Any]:
    facts = connection.execute("SELECT key, value FROM sweep").fetchall()
    return {key: parse_json(value) for key, value in facts}


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of damaged content into ours."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "SQLITE_CORRUPT").removeprefix("SQLITE_")
        if name.startswith(_PASSING):
            text = f"{path}: {error}; what was stored before is unchanged"
            raise ArtefactError(text) from error
        raise _damaged(path, error) from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> DamagedError:
    what = "is not a database of a sweep" if "not a database" in str(error) else "is damaged"
    return DamagedError(
        f"{path} {what} ({reason(error)}); the same sads sweep command makes it again from the "
        "result files"
    )
