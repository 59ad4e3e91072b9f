"""`sads atlas`: many architectures looked at in the same way, on one page."""

import json as jsonlib
from pathlib import Path

from .options import Flag, Seed


def atlas(
    listed: Path,
    *,
    out: Path,
    only: tuple[str, ...] = (),
    seed: Seed = 0,
    json: Flag = False,
) -> None:
    """Look at every architecture of a list: doctor, geometry, forecast, a report each, one page.

    What is done is kept: the same command goes on where it was stopped, and architectures whose
    configuration has not changed are not looked at again.

    Example: `sads atlas benchmarks/atlas/atlas.toml --out runs/atlas --only DiT-S/2`

    Args:
        listed: a TOML file with a table `[[network]]` for each architecture: `name`, `network`,
            `shape`, `kind`, and if wanted `published`, `reduced` and `networks`.
        out: directory for rows, pictures, reports and `index.html`.
        only: names of the architectures to look at; all unless given.
        seed: of all random draws.
        json: print the rows as one JSON object.
    """
    from ..atlas import load_atlas, load_rows, survey
    from ..atlas.entries import named
    from ..atlas.page import write_index
    from .progress import waiting

    entries = load_atlas(listed)
    with waiting(f"looking at {len(entries)} architectures") as tell:
        for entry in named(entries, only):
            survey(entry, out, seed=seed, on_stage=tell)
        rows = load_rows(out)
        page = write_index(entries, rows, out)
    if json:
        print(jsonlib.dumps({"rows": [row.model_dump(mode="json") for row in rows]}))
    else:
        print(f"{len(rows)} of {len(entries)} architectures in {page}.")
