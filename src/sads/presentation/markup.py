"""Small pieces of HTML for notebooks: tables of facts, and a spectrum as an SVG.

Everything is escaped, and readable on light and dark backgrounds.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

WIDTH, HEIGHT = 520, 130
_CELL = "text-align:left;padding:2px 12px 2px 0"


def facts(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title and a table of names and values.

    >>> "&lt;b&gt;" in facts("<b>", [])
    True
    """
    body = "".join(
        f'<tr><th style="{_CELL};font-weight:normal;opacity:.7">{escape(name)}</th>'
        f'<td style="{_CELL}">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{body}</table></div>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a header."""
    head = "".join(f'<th style="{_CELL}">{escape(cell)}</th>' for cell in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def log_plot(values: Sequence[float], colours: Sequence[str], label: str) -> str:
    """Positive values on a logarithmic scale, one dot each, as an SVG; others are left out."""
    positive = [v for v in values if v > 0]
    if not positive:
        return ""
    low, high = math.log10(min(positive)), math.log10(max(positive))
    span = high - low or 1.0
    dots: dict[str, list[str]] = {}
    for i, (value, colour) in enumerate(zip(values, colours, strict=True)):
        if value > 0:
            x = 6 + (WIDTH - 12) * (i + 0.5) / len(values)
            y = 8 + (HEIGHT - 30) * (high - math.log10(value)) / span
            dots.setdefault(colour, []).append(f"M{x:.1f} {y:.1f}h.01")
    paths = "".join(
        f'<path d="{"".join(d)}" stroke="{c}" stroke-width="3.5" stroke-linecap="round"/>'
        for c, d in dots.items()
    )
    words = escape(f"{label}, from {max(positive):.3g} to {min(positive):.3g}")
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="{words}" '
        f'style="max-width:100%;height:auto">{paths}<text x="6" y="{HEIGHT - 4}" font-size="11" '
        f'fill="currentColor">{words}</text></svg>'
    )
