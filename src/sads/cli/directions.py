"""`sads directions`: show the spectrum, the bands and the eigenvectors of a stored geometry."""

import json as jsonlib
from pathlib import Path

from .options import Flag


def directions(
    directory: Path,
    *,
    png: Path | None = None,
    force: Flag = False,
    json: Flag = False,
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
    from ..presentation.geometry import sentences, summary, title
    from ..storage.files import refuse_existing
    from .progress import waiting

    if png is not None:
        refuse_existing(png, force=force)
    with waiting(f"computing the spectrum of {directory}"):
        geometry = load_geometry(directory)
        keep_spectrum(geometry, directory)
        if png is not None:
            from ..presentation.plots.directions import draw_directions, save_figure

            save_figure(draw_directions(geometry.spectrum(), title(geometry)), png)
        text = jsonlib.dumps(summary(geometry)) if json else "\n".join(sentences(geometry))
    print(text)
    if png is not None and not json:
        print(f"Drawn in {png}.")
