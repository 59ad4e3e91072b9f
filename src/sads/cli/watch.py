"""`sads watch`: the progress of running geometries, trainings, monitors and sweeps."""

import json as jsonlib
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from .options import Flag

if TYPE_CHECKING:
    from rich.table import Table

    from ..watch import Standing


def watch(
    directory: Path,
    *,
    every: float = 2.0,
    json: Flag = False,
) -> None:
    """Show how far a geometry, training or sweep is, until it is finished or you press Ctrl-C.

    A folder with several of them is shown with a line for each. The runs themselves are not
    disturbed. Without a terminal, one table is printed.

    Example: `sads watch runs/figure-06`

    Args:
        directory: the `--out` of `sads geometry`, `train` or `sweep`, the `out` of
            `sads.Monitor`, or a folder with several of these.
        every: seconds between two updates.
        json: print the current progress as one JSON object.
    """
    from rich.console import Console
    from rich.live import Live

    from ..errors import InputError
    from ..watch import look

    if not 0 < every < float("inf"):
        raise InputError(f"--every is a positive number of seconds, got {every:g}")
    standing = look(directory)
    if json:
        print(jsonlib.dumps(asdict(standing)))
        return
    console = Console()
    if not console.is_terminal or standing.finished:
        console.print(_table(standing))
        return
    try:
        with Live(_table(standing), console=console, auto_refresh=False) as live:
            while not standing.finished:
                time.sleep(every)
                standing = look(directory)
                live.update(_table(standing), refresh=True)
    except KeyboardInterrupt:
        print("The run goes on without being watched.")


def _table(standing: "Standing") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(standing.title), title_justify="left", show_header=False)
    for name, value in standing.rows:
        table.add_row(Text(name), Text(value))  # plain text: names are not markup
    return table
