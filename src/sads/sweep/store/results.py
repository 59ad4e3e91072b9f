"""The results of a sweep as a value: rows, means over seeds, and a table to look at."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...markup import facts, table
from ..summary import mean_table, means, sentences
from .database import read_rows


@dataclass(frozen=True, eq=False)
class Results:
    """What a sweep has found so far.

    Attributes:
        directory: of the sweep.
        rows: one for each trial, sorted by id; see `sads results --json`.
    """

    directory: Path
    rows: tuple[dict[str, Any], ...]

    def __repr__(self) -> str:
        return "\n".join([*means(self.rows), *sentences(self.rows)])

    def _repr_html_(self) -> str:
        said = [("", line) for line in sentences(self.rows)]
        found = mean_table(self.rows)
        return facts(f"Sweep in {self.directory}", said) + (
            table(found[0], found[1:]) if found else ""
        )


def load_results(directory: str | Path) -> Results:
    """The results in the directory of a sweep, also while it runs.

    Raises:
        ArtefactError: if there is no sweep.
    """
    return Results(Path(directory), tuple(read_rows(directory)[1]))
