"""The rows of the atlas as a table."""

from benchmarks.pages.markdown import ROWS, Lines, table
from sads.atlas import load_atlas, load_rows
from sads.atlas.cells import Line, lines, total_cost

ATLAS = ROWS.parent / "atlas"
LISTED = ROWS.parents[1] / "benchmarks" / "atlas" / "atlas.toml"
HEADER = ("architecture", "shape", "parameters", "doctor", "effective directions", "learned last")


def architectures() -> Lines:
    """What was measured of every architecture."""
    shown = lines(load_atlas(LISTED), load_rows(ATLAS))
    cost = total_cost([line.row for line in shown])
    return [f"{len(shown)} architectures. {cost}", "", *table(HEADER, map(_cells, shown))]


def _cells(line: Line) -> list[str]:
    report = f"atlas/reports/{line.row.slug}.html"
    linked = (ATLAS.parent / report).exists()
    name = f"[{line.entry.name}]({report})" if linked else line.entry.name
    star = "*" if line.entry.reduced else ""
    doctor = "; ".join(
        filter(None, [*line.loud, line.cells["findings"], line.soft.get("findings")])
    )
    cells = [line.cells[key] for key in ("shape", "parameters", "anisotropy", "last")]
    return [f"{name}{star}", cells[0], cells[1], doctor, *cells[2:]]
