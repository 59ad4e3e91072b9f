"""The results of a sweep as a value."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...shown import Shown, as_text
from .database import read_rows


@dataclass(frozen=True, eq=False)
class Results(Shown):
    """What a sweep has found so far.

    Attributes:
        directory: of the sweep.
        rows: one for each trial, sorted by id; see `sads results --json`.
    """

    directory: Path
    rows: tuple[dict[str, Any], ...]

    def __repr__(self) -> str:
        return as_text(self)


def load_results(directory: str | Path) -> Results:
    """The results in the directory of a sweep, also while it runs.

    Raises:
        ArtefactError: if there is no sweep.
    """
    return Results(Path(directory), tuple(read_rows(directory)[1]))
