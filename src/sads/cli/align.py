"""`sads align`: how a dataset lies in a geometry."""

import json as jsonlib
from pathlib import Path

from .options import Flag


def align(
    directory: Path,
    *,
    data: str,
    png: Path | None = None,
    force: Flag = False,
    json: Flag = False,
) -> None:
    """Say how a dataset lies in a network's geometry.

    Alpha is the mean of x^T G x. It is shown with its smallest and largest value over all
    rotations.

    Example: `sads align runs/iddpm-16 --data digits,size=16`

    Args:
        directory: where `sads geometry --out` saved the geometry.
        data: the data, as `sads data --help` describes it; its training split by default.
        png: write a picture of the energy profile to this file.
        force: replace an existing picture.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..presentation.alignment import sentences, summary
    from ..storage.files import refuse_existing
    from .progress import waiting

    if png is not None:
        refuse_existing(png, force=force)
    with waiting(f"aligning {data}"):
        alignment = api.align(directory, data)
        lines = sentences(alignment)
    if png is not None:
        from ..presentation.plots.alignment import draw_alignment
        from ..presentation.plots.directions import save_figure

        save_figure(draw_alignment(alignment), png)
    print(jsonlib.dumps(summary(alignment)) if json else "\n".join(lines))
