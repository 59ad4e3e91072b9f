"""All architectures of an atlas, one after the other; the page is whole after each."""

from collections.abc import Sequence
from pathlib import Path

from .entries import AtlasEntry
from .page import write_index
from .rows import AtlasRow, load_rows
from .survey import Tell, survey


def look_at_all(
    entries: Sequence[AtlasEntry],
    chosen: Sequence[AtlasEntry],
    out: str | Path,
    *,
    seed: int = 0,
    on_stage: Tell | None = None,
) -> tuple[AtlasRow, ...]:
    """Look at some entries of an atlas; returns all rows that are kept of it.

    Args:
        entries: all of the atlas, in the order of the page.
        chosen: those to look at.
        out: directory of the atlas.
        seed: of all draws.
        on_stage: called with what is done next.
    """
    place = Path(out)
    rows: tuple[AtlasRow, ...] = ()
    for entry in chosen:
        survey(entry, place, seed=seed, on_stage=on_stage)
        rows = load_rows(place)
        write_index(entries, rows, place)
    return rows
