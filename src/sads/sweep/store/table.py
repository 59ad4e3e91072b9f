"""Results as a CSV file, which is read back to the last bit.

Every line of a trial ends with a checksum of its other cells. Older tables have none; their cells
are checked for type and range.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...errors import InputError
from ...storage.files import atomic_write, regular_file, write_bytes
from ...storage.sealed import SEAL, expect, json_digest, parse_json
from ..describe.trial import Trial
from .outcome import Metrics, Provenance, Timings, TrialResult
from .rows import DONE, STATUSES, known_fields, required_fields

PROTOCOL = "protocol_"
TRIAL = {"id", "status", *required_fields(Metrics)}
NEEDED = TRIAL | {*required_fields(Timings), *Provenance.model_fields, "code", "attempts"}


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows of `read_rows`, one line for each trial."""
    cells = [_flat(row) for row in rows]
    names = dict.fromkeys(name for line in cells for name in line)
    lines = [_sealed({name: line.get(name) for name in names}) for line in cells]
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    atomic_write(path, write_bytes(text.getvalue().encode()))


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of a line: each field of the protocol in a column, nested values as JSON."""
    cells: dict[str, Any] = {}
    for key, value in row.items():
        parts = {PROTOCOL + n: v for n, v in value.items()} if key == "protocol" else {key: value}
        cells |= {
            name: json.dumps(part, sort_keys=True) if isinstance(part, (dict, list)) else part
            for name, part in parts.items()
        }
    return cells


def _sealed(cells: dict[str, Any]) -> dict[str, Any]:
    """The cells of a line with their checksum, if they belong to a trial."""
    if not cells.keys() >= TRIAL:
        return cells
    text = {name: "" if value is None else str(value) for name, value in cells.items()}
    return cells | {SEAL: _seal(text)}


def _seal(cells: Mapping[str, str]) -> str:
    """A checksum short enough for a table: it finds damage, but is no defence against forgery."""
    return json_digest({name: cell for name, cell in cells.items() if name != SEAL})[:16]


def read_csv(path: Path, trials: Mapping[str, Trial]) -> list[TrialResult]:
    """The finished results in a CSV file that belong to trials of a sweep, by their identities.

    Raises:
        InputError: if the file is missing or is not a table of results.
    """
    try:
        with regular_file(path).open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows, names = list(reader), reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    if not rows or not {*names} >= TRIAL or len({*names}) < len(names):
        raise InputError(
            f"{path} is not a table of results: expected what sads results --csv wrote"
        )
    results = []
    for number, row in enumerate(rows, start=1):
        try:
            _check(row)
            if row["status"] == DONE and row["id"] in trials:
                results.append(_result(row, trials[row["id"]]))
        except (ValidationError, ValueError, TypeError, KeyError, RecursionError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{path}, row {number} cannot be read: {reason[:200]}") from error
    return results


def _check(row: Mapping[str, str]) -> None:
    """Refuse a line that changed after it was written."""
    expect(None not in row and None not in row.values(), "a cell for each column")
    expect(row["status"] in ("", *STATUSES), f"a status, got {row['status']!r}")
    expect(
        row.get(SEAL) in (None, _seal(row)),
        f"the checksum {_seal(row)} of the other cells; without that column the table is taken "
        "as it is",
    )


def _result(row: Mapping[str, str], trial: Trial) -> TrialResult:
    given = {key: value for key, value in row.items() if value != ""}
    expect(row.keys() >= NEEDED, f"the columns {', '.join(sorted(NEEDED - row.keys()))}")

    return TrialResult(
        id=given["id"],
        trial=trial,
        metrics=Metrics.model_validate(known_fields(Metrics, given)),
        moments=parse_json(given.get("moments", "[]")),
        timings=Timings.model_validate(known_fields(Timings, given)),
        provenance=Provenance.model_validate(
            known_fields(Provenance, given) | {"versions": parse_json(given["versions"])}
        ),
        code=given["code"],
        artefact=None,  # the file stayed where it was made
        attempt=int(given["attempts"]),
    )
