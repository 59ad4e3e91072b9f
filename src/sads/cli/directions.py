"""`sads directions`: look at the spectrum, the bands and the eigenvectors of a stored geometry."""

import json as jsonlib
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def directions(
    directory: Path,
    *,
    png: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Show the directions of a stored geometry.

    Example: `sads directions runs/iddpm-16 --png directions.png`

    Args:
        directory: where `sads geometry --out` saved it.
        png: draw spectrum, eigenvectors and their DFT energy into this file.
        json: print the result as one JSON object.
    """
    from ..geometry import load_geometry
    from ..geometry.summary import sentences, summary, title
    from ..storage import file_target

    if png is not None:
        file_target(png)  # a place that cannot be written is found before the work
    found = load_geometry(directory)
    if png is not None:
        from ..plots.directions import draw_directions, save_figure

        save_figure(draw_directions(found.spectrum(), title(found)), png)
    if json:
        print(jsonlib.dumps(summary(found)))
        return
    print("\n".join(sentences(found)))
    if png is not None:
        print(f"Drawn in {png}.")
