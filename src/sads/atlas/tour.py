"""All architectures of an atlas, one after the other; the page is complete after each."""

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
    """Survey some entries of an atlas; returns all of its stored rows.

    Args:
        entries: all entries of the atlas, in the order of the page.
        chosen: the entries to survey.
        out: directory of the atlas.
        seed: the seed of all draws.
        on_stage: called with the name of each stage before it starts.
    """
    place = Path(out)
    rows: tuple[AtlasRow, ...] = ()
    for entry in chosen:
        survey(entry, place, seed=seed, on_stage=on_stage)
        rows = load_rows(place)
        write_index(entries, rows, place)
    return rows
