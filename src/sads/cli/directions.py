"""`sads directions`: look at the spectrum, the bands and the eigenvectors of a stored geometry."""

import json as jsonlib
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def directions(
    directory: Path,
    *,
    png: Path | None = None,
    force: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Show the directions of a stored geometry.

    Example: `sads directions runs/iddpm-16 --png directions.png`

    Args:
        directory: where `sads geometry --out` saved it.
        png: draw spectrum, eigenvectors and their DFT energy into this file.
        force: replace an existing picture.
        json: print the result as one JSON object.
    """
    from ..geometry import keep_spectrum, load_geometry
    from ..geometry.summary import sentences, summary, title
    from ..storage.files import refuse_existing
    from .progress import waiting

    if png is not None:
        refuse_existing(png, force=force)
    with waiting(f"computing the spectrum of {directory}"):
        found = load_geometry(directory)
        keep_spectrum(found, directory)
        if png is not None:
            from ..presentation.plots.directions import draw_directions, save_figure

            save_figure(draw_directions(found.spectrum(), title(found)), png)
        said = jsonlib.dumps(summary(found)) if json else "\n".join(sentences(found))
    print(said)
    if png is not None and not json:
        print(f"Drawn in {png}.")
