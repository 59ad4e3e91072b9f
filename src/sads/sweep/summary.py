"""Results in words and columns."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..draws import DRAWS
from ..statistics.means import mean_and_error
from .describe.trial import in_words
from .store.rows import DONE, FAILED, PENDING, QUARANTINED

if TYPE_CHECKING:
    from .correlation import Correlation
    from .describe.plan import Planned
    from .execute.calibration import Estimate

STATUSES = (DONE, PENDING, FAILED, QUARANTINED)
_SHOWN = ("sw2", "msw2", "msw2_optimised", "w2_direction", "loss")
_KEYS = ("network", "shape", "data", "rotation", "rank", "protocol", "geometry")

Row = Mapping[str, Any]


def sentences(rows: Sequence[Row]) -> list[str]:
    """How many trials stand where, what went wrong, what to know about the numbers."""
    counts = Counter(row["status"] for row in rows)
    known = [f"{counts[status]:,} {status}" for status in STATUSES if counts[status]]
    lines = [f"{len(rows):,} trials: {', '.join(known)}."]
    for row in rows:
        if row["status"] in (FAILED, QUARANTINED):
            lines.append(f"{row['status']} {row['id']} ({named(row)}): {row['error']}")
    codes = {row["code"] for row in rows if row["code"]}
    if len(codes) > 1:
        lines.append(f"The results were computed by different code: {', '.join(sorted(codes))}.")
    return lines + draws_sentence(rows)


def draws_sentence(rows: Sequence[Row]) -> list[str]:
    """On which versions of the random draws results rest, if not on this one's alone."""
    counts = Counter(row["draws"] for row in rows if row["status"] == DONE)
    if counts.keys() <= {DRAWS}:
        return []
    known = " and ".join(f"{count:,} of version {v}" for v, count in sorted(counts.items()))
    mixed = ", whose equal seeds are not paired" if len(counts) > 1 else ""
    return [f"Results by random draws: {known}{mixed}; this is version {DRAWS}."]


def named(row: Row) -> str:
    """The trial of a row in a few words."""
    return in_words(*(row[name] for name in ("network", "data", "rotation", "rank", "seed")))


def means(rows: Sequence[Row]) -> list[str]:
    """The lines of `mean_table`, in columns."""
    table = mean_table(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in table]


def mean_table(rows: Sequence[Row]) -> list[list[str]]:
    """One line for all seeds of a trial, mean and standard error of each metric; a header first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == DONE:
            key = json.dumps([row[name] for name in _KEYS], sort_keys=True)
            groups.setdefault(key, []).append(row)
    if not groups:
        return []
    shown = [
        name for name in _SHOWN if any(row[name] is not None for g in groups.values() for row in g)
    ]
    table = [["network", "data", "rotation", "seeds", *shown]]
    for members in sorted(groups.values(), key=_order):
        row = members[0]
        rank = "" if row["rank"] is None else f" {row['rank']}"
        cells = [row["network"], row["data"], f"{row['rotation']}{rank}", str(len(members))]
        for name in shown:
            values = [member[name] for member in members if member[name] is not None]
            cells.append(_cell(*mean_and_error(values)) if values else "")
        table.append(cells)
    return table


def _order(members: Sequence[Row]) -> tuple[Any, ...]:
    row = members[0]
    place = -1 if row["band_first"] is None else row["band_first"]
    return row["network"], row["rotation"], row["rank"] or 0, place, _natural(row["data"])


def _natural(text: str) -> list[Any]:
    """So that rank-one:dct:9 comes before rank-one:dct:10."""
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in re.split(r"(\d+)", text)]


def _cell(mean: float, error: float | None) -> str:
    return f"{mean:.4g}" if error is None else f"{mean:.4g} +- {error:.2g}"


def correlation_sentence(found: "Correlation") -> str:
    """A correlation in one sentence."""
    rotation = found.about["rotation"]
    turned = "" if rotation == "identity" else f", rotation {rotation}"
    parts = [
        f"{name} {c.value:.3f} (95 % {c.interval[0]:.2f} to {c.interval[1]:.2f}, "
        f"p = {c.p_value:.2g})"
        for name, c in (("Spearman", found.spearman), ("Kendall", found.kendall))
    ]
    many = len(found.seeds)
    return (
        f"{found.about['network']}{turned}: {found.metric} against eigenvalue over {found.bands} "
        f"bands and {many} {'seed' if many == 1 else 'seeds'}: {', '.join(parts)}; largest minus "
        f"smallest {_cell(found.contrast, found.contrast_error)}."
    )


def correlation_fields(found: "Correlation") -> dict[str, Any]:
    """A correlation for JSON, which has null instead of NaN."""

    def known(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: known(own) for key, own in value.items()}
        if isinstance(value, tuple):
            return [known(own) for own in value]
        return None if isinstance(value, float) and math.isnan(value) else value

    return known(asdict(found))


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """How a sweep stands, for JSON."""
    counts = Counter(row["status"] for row in rows)
    problems = [
        {"id": row["id"], "status": row["status"], "trial": named(row), "error": row["error"]}
        for row in rows
        if row["status"] in (FAILED, QUARANTINED)
    ]
    return {status: counts[status] for status in STATUSES} | {"problems": problems}


def plan_rows(plan: "Sequence[Planned]") -> list[dict[str, Any]]:
    """Trials that have not run, for JSON; sorted by id."""
    found = [{"id": p.id} | p.trial.model_dump(mode="json") for p in plan]
    return sorted(found, key=lambda row: row["id"])


def cost_lines(cost: "Estimate") -> list[str]:
    """What a sweep would take, and what that is made of."""
    lines = []
    for trial, count, one in cost.kinds:
        shape = f" ({trial.shape})" if trial.shape else ""
        lines.append(
            f"{count:,} trials of {trial.network}{shape}: {span(one.seconds)} each (training "
            f"{span(one.train_seconds)}, sampling {span(one.sample_seconds)}, distances "
            f"{span(one.distance_seconds)})"
        )
    total = sum(count for _, count, _ in cost.kinds)
    return [
        *lines,
        f"{total:,} trials to run, about {span(cost.seconds)} in all on {cost.slots} workers, as "
        "measured on a few steps now; starting the workers comes on top.",
    ]


def span(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> [span(s) for s in (0.04, 12.3, 150, 8000, 3e5)]
    ['0.04 s', '12 s', '2.5 min', '2.2 h', '3.5 days']
    """
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return (
                f"{seconds / size:.2g} {unit}"
                if seconds < 100 * size
                else f"{seconds / size:,.0f} {unit}"
            )
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"
