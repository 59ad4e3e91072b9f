"""The results of a sweep as a value."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...foundation.data_frames import as_frame
from ...foundation.rendering import Shown, as_text
from .database import read_rows

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Results(Shown):
    """What a sweep has found so far.

    Attributes:
        directory: of the sweep.
        rows: one for each trial, sorted by id; see `sads results --json`.

    >>> import sads
    >>> from pathlib import Path
    >>> results = sads.Results(Path("sweep"), ({"id": "a", "sw2": 0.5}, {"id": "b", "sw2": 0.7}))
    >>> round(sum(row["sw2"] for row in results.rows) / 2, 2)
    0.6
    """

    directory: Path
    rows: tuple[dict[str, Any], ...]

    @property
    def statuses(self) -> Counter[str]:
        """The number of trials of each status."""
        return Counter(row["status"] for row in self.rows)

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each trial; needs pandas."""
        return as_frame(self.rows)

    def __repr__(self) -> str:
        return as_text(self)


def load_results(directory: str | Path) -> Results:
    """The results in the directory of a sweep, also while it runs.

    Raises:
        ArtefactError: if there is no sweep.

    >>> import sads
    >>> sads.load_results("nowhere")
    Traceback (most recent call last):
    sads.errors.ArtefactError: no sweep in nowhere...
    """
    return Results(Path(directory), tuple(read_rows(directory)[1]))
