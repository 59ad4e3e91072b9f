"""Tables of text, drawn by rich."""

from collections.abc import Iterable, Sequence
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

WIDEST = 10_000  # characters: a line is never broken, so that it can be searched and copied


def text_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[str] = ()
) -> list[str]:
    """The lines of a table; columns of numbers are aligned to the right.

    >>> text_table(["name", "size"], [["a", "1"], ["b", "100"]], numbers=["size"])
    ['name  size', 'a        1', 'b      100']
    """
    from rich.table import Table
    from rich.text import Text  # names are not markup

    right = {*numbers}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in header:
        table.add_column(Text(name), justify="right" if name in right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return drawn_lines(table, WIDEST)


def drawn_lines(table: "Table", width: int) -> list[str]:
    """What rich draws, as lines of limited width."""
    from rich.console import Console

    paper = StringIO()
    # In a notebook rich would display the table instead of returning it.
    Console(file=paper, width=width, color_system=None, force_jupyter=False).print(table)
    return [line.rstrip() for line in paper.getvalue().splitlines()]
