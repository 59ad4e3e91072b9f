"""Tables, numbers and badges as the pages of results write them.

*Badges.* A claim **holds** if its whole 95 % interval is on its side, is **reversed** if the
interval is on the other side of zero, **fails** if it misses a bar without being reversed, and is
**open** otherwise, or if it rests on fewer than five seeds.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from sads.statistics.means import mean_and_error

ROWS = Path(__file__).resolve().parents[2] / "docs" / "results"
Lines = list[str]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Lines:
    """A table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, and no power of ten below a million.

    >>> number(0.01234), number(1269.8), number(4e-11, 1)
    ('0.0123', '1,270', '4e-11')
    """
    if value is None:
        return ""
    whole = 10**digits - 0.5 <= abs(value) < 1e6
    return f"{value:,.0f}" if whole else f"{value:.{digits}g}"


def measured(value: float | None, interval: Sequence[float] | None) -> str:
    """A value with its 95 % interval."""
    known = "" if interval is None else f" ({number(interval[0])} to {number(interval[1])})"
    return number(value) + known


def badge(holds: bool | None, interval: Sequence[float] | None, value: float | None) -> str:
    """The word for a finding."""
    if holds is None:
        return "open"
    if holds:
        return "**holds**"
    other_side = interval[1] < 0 if interval is not None else (value or 0.0) < 0
    return "**reversed**" if other_side else "**fails**"


def spread(values: Sequence[float]) -> str:
    """Mean and standard error."""
    mean, error = mean_and_error(values)
    return number(mean) if error is None else f"{number(mean)} ± {number(error, 2)}"


def overall(words: Counter[str]) -> str:
    """One word for many: what all that are decided agree on."""
    decided = [word for word in ("holds", "reversed") if words[word]]
    return decided[0] if len(decided) == 1 else "both" if decided else "open"


def counts(words: Counter[str]) -> str:
    return ", ".join(f"{words[word]} {word}" for word in ("holds", "reversed", "open"))
