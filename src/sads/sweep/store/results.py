"""The results of a sweep as a value."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...frames import as_frame
from ...shown import Shown, as_text
from .database import read_rows

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Results(Shown):
    """What a sweep has found so far.

    Attributes:
        directory: of the sweep.
        rows: one for each trial, sorted by id; see `sads results --json`.
    """

    directory: Path
    rows: tuple[dict[str, Any], ...]

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each trial; needs pandas."""
        return as_frame(self.rows)

    def __repr__(self) -> str:
        return as_text(self)


def load_results(directory: str | Path) -> Results:
    """The results in the directory of a sweep, also while it runs.

    Raises:
        ArtefactError: if there is no sweep.
    """
    return Results(Path(directory), tuple(read_rows(directory)[1]))
