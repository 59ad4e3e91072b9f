"""`sads atlas`: examine many architectures in the same way and show them on one page."""

import json as jsonlib
import sys
from pathlib import Path

from .options import Flag, Names, Seed


def atlas(
    listed: Path,
    *,
    out: Path,
    only: Names = (),
    seed: Seed = 0,
    json: Flag = False,
) -> None:
    """Examine every architecture of a list with doctor, geometry, forecast and report, on one page.

    Finished work is kept: the same command continues where it was stopped, and skips architectures
    whose configuration has not changed. An architecture that fails gets a row with the reason, is
    tried again the next time, and makes the exit code 1. The page is written after each row.

    Example: `sads atlas benchmarks/atlas/atlas.toml --out runs/atlas --only DiT-S/2 DiT-S/4`

    Args:
        listed: a TOML file with a table `[[network]]` for each architecture: `name`, `network`,
            `shape`, `kind`, and optionally `published`, `reduced` and `networks`.
        out: directory for rows, pictures, reports and `index.html`.
        only: names of the architectures to examine; all unless given.
        seed: the seed of all random draws.
        json: print the rows as one JSON object.
    """
    from ..atlas import load_atlas, look_at_all
    from ..atlas.entries import named
    from .progress import waiting

    entries = load_atlas(listed)
    chosen = named(entries, only)
    with waiting(f"looking at {len(chosen)} architectures") as tell:
        rows = look_at_all(entries, chosen, out, seed=seed, on_stage=tell)
    failed = [row for row in rows if row.failed is not None]
    if json:
        print(jsonlib.dumps({"rows": [row.model_dump(mode="json") for row in rows]}))
    else:
        done = len(rows) - len(failed)
        print(f"{done} of {len(entries)} architectures in {out / 'index.html'}.")
        for row in failed:
            print(f"{row.name} failed: {row.failed}")
    if failed:
        sys.exit(1)
