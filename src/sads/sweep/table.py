"""Results as a CSV file, written whole and read back to the last bit."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import InputError
from ..storage import atomic_write, write_bytes
from .result import Metrics, Provenance, Timings, TrialResult
from .store import DONE
from .trial import Trial

PROTOCOL = "protocol_"


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows of `read_rows`, one line for each trial."""
    flat = [_flat(row) for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(flat[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    atomic_write(path, write_bytes(text.getvalue().encode()))


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in row.items():
        if key == "protocol":
            found |= {PROTOCOL + name: part for name, part in value.items()}
        else:
            found[key] = json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
    return found


def read_csv(path: Path, trials: Mapping[str, Trial]) -> list[TrialResult]:
    """The finished results in a CSV file that belong to trials of a sweep, by their identities.

    Raises:
        InputError: if the file is not there or is not a table of results.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    if not rows or not {"id", "status", *Metrics.model_fields} <= rows[0].keys():
        raise InputError(
            f"{path} is not a table of results: expected what sads results --csv wrote"
        )
    known = [row for row in rows if row["status"] == DONE and row["id"] in trials]
    try:
        return [_result(row, trials[row["id"]]) for row in known]
    except (ValidationError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} has a row that cannot be read: {reason[:200]}") from error


def _result(row: Mapping[str, str], trial: Trial) -> TrialResult:
    given = {key: value for key, value in row.items() if value != ""}

    def part(model: Any) -> dict[str, Any]:
        return {name: given.get(name) for name in model.model_fields}

    return TrialResult(
        id=given["id"],
        trial=trial,
        metrics=Metrics.model_validate(part(Metrics)),
        timings=Timings.model_validate(part(Timings)),
        provenance=Provenance.model_validate(
            part(Provenance) | {"versions": json.loads(given["versions"])}
        ),
        code=given["code"],
        artefact=None,  # the file stayed where it was made
        attempt=int(given["attempts"]),
    )
