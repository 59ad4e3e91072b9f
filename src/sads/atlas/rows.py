"""What was measured of each architecture, kept as JSON with a checksum.

| file                    | what                                                   |
|-------------------------|--------------------------------------------------------|
| `rows/SLUG.json`        | the numbers                                            |
| `pictures/SLUG-*.png`   | the first and the last certified band                  |
| `reports/SLUG.html`     | the report                                             |
| `work/SLUG`             | geometry and forecast, from which all this can be made |
"""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from ..storage.files import atomic_write, write_bytes
from ..storage.sealed import seal_json, sensible, unseal_json

FORMAT = "sads.atlas-row/1"


class BandPicture(BaseModel, frozen=True, extra="forbid"):
    """A band and the picture of it.

    Attributes:
        first: index of its first direction, 0 for the largest eigenvalue.
        last: index of its last.
        relative: its mean eigenvalue over that of all directions.
        shows: `eigenvector`, or `energy` by position for a band of several.
        picture: name of the file.
    """

    first: int = Field(ge=0)
    last: int = Field(ge=0)
    relative: float
    shows: str
    picture: str


class AtlasRow(BaseModel, frozen=True, extra="forbid"):
    """What was measured of one architecture.

    Attributes:
        name: the name of the entry.
        slug: its name in files.
        identity: the identity of what was measured (`AtlasEntry.identity`); empty if nothing was.
        code: version of the sources that measured it.
        summary: what `sads summary --json` prints; empty if nothing could be measured.
        failed: why nothing could be measured; None if something was.
        structure: the structure of the geometry, for readers.
        readout: how the last layer was read.
        subspace: the subspace of the geometry; None for the whole space.
        whitened_error: the whitened error of the geometry.
        resolution_median: window of the median direction.
        first: the first certified band; None where none is certified.
        last: the last one that is not null.
        seconds: the wall-clock time.
        processor_seconds: the processor time of all threads; None in older rows.
        goes_on: whether this continued unfinished work, whose time is not counted.
    """

    format: str = FORMAT
    name: str
    slug: str
    identity: str = ""
    code: str
    summary: dict[str, Any] = {}
    failed: str | None = None
    structure: str | None = None
    readout: str | None = None
    subspace: str | None = None
    whitened_error: float | None = None
    resolution_median: float | None = None
    first: BandPicture | None = None
    last: BandPicture | None = None
    seconds: float = Field(ge=0)
    processor_seconds: float | None = Field(default=None, ge=0)
    goes_on: bool = False

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What the doctor finds; empty where it could not examine the network."""
        return self.summary.get("findings", [])

    @property
    def examined(self) -> bool:
        """Whether the doctor could examine it."""
        return self.failed is None and "doctor" not in self.summary["untold"]


def row_path(out: Path, slug: str) -> Path:
    """The file that keeps the row of an architecture."""
    return out / "rows" / f"{slug}.json"


def write_row(out: Path, row: AtlasRow) -> None:
    """Keep a row, atomically."""
    place = row_path(out, row.slug)
    place.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(place, write_bytes(seal_json(row.model_dump(mode="json"))))


def read_row(path: Path) -> AtlasRow:
    """Read a row from its file.

    Raises:
        ArtefactError: if it is damaged.
    """
    content = unseal_json(path.read_bytes(), path)
    with sensible(path):
        return AtlasRow.model_validate(content)


def load_rows(out: str | Path) -> tuple[AtlasRow, ...]:
    """All rows that are kept in a directory, by name."""
    places = sorted((Path(out) / "rows").glob("*.json"))
    return tuple(sorted((read_row(place) for place in places), key=lambda row: row.name.lower()))
