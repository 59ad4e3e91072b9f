"""The plan, the state and the results of a sweep in words and tables."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..foundation.versions import DRAWS
from ..statistics.means import mean_and_error
from ..sweep.describe.trial import in_words
from ..sweep.store.rows import DONE, FAILED, METRICS, QUARANTINED, STATUSES
from .markup import facts, table
from .numbers import counted, span, with_error
from .tables import text_table

if TYPE_CHECKING:
    from ..sweep.correlation import Correlation
    from ..sweep.describe.plan import Planned
    from ..sweep.execute.calibration import Estimate
    from ..sweep.store.results import Results

_BESIDE = ("standard_error", "msw2_null", "p_value", "projections")  # these belong to other metrics
_SHOWN = tuple(n for n in METRICS if n not in _BESIDE and not n.endswith("_error"))
_KEYS = ("network", "shape", "data", "rotation", "rank", "protocol", "geometry")

Row = Mapping[str, Any]


def text(results: "Results") -> str:
    """What a Python prompt shows of results."""
    return "\n".join([*means(results.rows), *sentences(results.rows)])


def html(results: "Results") -> str:
    """What a notebook shows of results."""
    rows = mean_table(results.rows)
    lines = [("", line) for line in sentences(results.rows)]
    picture = table(rows[0], rows[1:]) if rows else ""
    return facts(f"Sweep in {results.directory}", lines) + picture


def sentences(rows: Sequence[Row]) -> list[str]:
    """The number of trials in each state, what went wrong, and notes on the numbers."""
    counts = Counter(row["status"] for row in rows)
    known = [f"{counts[status]:,} {status}" for status in STATUSES if counts[status]]
    lines = [f"{len(rows):,} trials: {', '.join(known)}."]
    lines += [
        f"{row['status']} {row['id']} ({named(row)}): {row['error']}" for row in _problems(rows)
    ]
    codes = {row["code"] for row in rows if row["code"]}
    if len(codes) > 1:
        lines.append(f"The results were computed by different code: {', '.join(sorted(codes))}.")
    return lines + _draws_sentence(rows)


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The state of a sweep, for JSON."""
    counts = Counter(row["status"] for row in rows)
    problems = [
        {"id": row["id"], "status": row["status"], "trial": named(row), "error": row["error"]}
        for row in _problems(rows)
    ]
    return {status: counts[status] for status in STATUSES} | {"problems": problems}


def _problems(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["status"] in (FAILED, QUARANTINED)]


def _draws_sentence(rows: Sequence[Row]) -> list[str]:
    """The versions of the random draws behind the results, unless all are of this version."""
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
    lines = mean_table(rows)
    return text_table(lines[0], lines[1:]) if lines else []


def mean_table(rows: Sequence[Row]) -> list[list[str]]:
    """One line for all seeds of a trial, mean and standard error of each metric; a header first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == DONE:
            key = json.dumps([row[name] for name in _KEYS], sort_keys=True)
            groups.setdefault(key, []).append(row)
    if not groups:
        return []
    measured = [row for members in groups.values() for row in members]
    metrics = [name for name in _SHOWN if any(row[name] is not None for row in measured)]
    lines = [["network", "data", "rotation", "seeds", *metrics]]
    for members in sorted(groups.values(), key=_order):
        row = members[0]
        rank = "" if row["rank"] is None else f" {row['rank']}"
        cells = [row["network"], row["data"], f"{row['rotation']}{rank}", str(len(members))]
        for name in metrics:
            values = [member[name] for member in members if member[name] is not None]
            cells.append(with_error(*mean_and_error(values)) if values else "")
        lines.append(cells)
    return lines


def _order(members: Sequence[Row]) -> tuple[Any, ...]:
    row = members[0]
    place = -1 if row["band_first"] is None else row["band_first"]
    return row["network"], row["rotation"], row["rank"] or 0, place, _natural(row["data"])


def _natural(words: str) -> list[Any]:
    """A key that sorts rank-one:dct:9 before rank-one:dct:10."""
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in re.split(r"(\d+)", words)]


def correlation_sentence(correlation: "Correlation") -> str:
    """A correlation in one sentence."""
    rotation = correlation.about["rotation"]
    turned = "" if rotation == "identity" else f", rotation {rotation}"
    ranks = [("Spearman", correlation.spearman), ("Kendall", correlation.kendall)]
    parts = [
        f"{name} {c.value:.3f} (95 % {c.interval[0]:.2f} to {c.interval[1]:.2f}, "
        f"p = {c.p_value:.2g})"
        for name, c in ranks
    ]
    return (
        f"{correlation.about['network']}{turned}: {correlation.metric} against eigenvalue over "
        f"{correlation.bands} bands and {counted(len(correlation.seeds), 'seed')}: "
        f"{', '.join(parts)}; largest minus smallest "
        f"{with_error(correlation.contrast, correlation.contrast_error)}."
    )


def correlation_fields(correlation: "Correlation") -> dict[str, Any]:
    """A correlation for JSON, which has null instead of NaN."""

    def known(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: known(own) for key, own in value.items()}
        if isinstance(value, tuple):
            return [known(own) for own in value]
        return None if isinstance(value, float) and math.isnan(value) else value

    return known(asdict(correlation))


def plan_rows(plan: "Sequence[Planned]") -> list[dict[str, Any]]:
    """Trials that have not run, for JSON; sorted by id."""
    rows = [{"id": planned.id} | planned.trial.model_dump(mode="json") for planned in plan]
    return sorted(rows, key=lambda row: row["id"])


def plan_lines(plan: "Sequence[Planned]", cost: "Estimate") -> list[str]:
    """Trials that have not run, the time that they would take, and its parts."""
    lines = [f"{planned.id}  {planned.trial}" for planned in plan]
    for trial, count, one in cost.kinds:
        shape = f" ({trial.shape})" if trial.shape else ""
        lines.append(
            f"{count:,} trials of {trial.network}{shape}: {span(one.seconds)} each (training "
            f"{span(one.train_seconds)}, sampling {span(one.sample_seconds)}, distances "
            f"{span(one.distance_seconds)}, risk {span(one.risk_seconds or 0.0)})"
        )
    total = sum(count for _, count, _ in cost.kinds)
    return [
        *lines,
        f"{total:,} trials to run, about {span(cost.seconds)} in all on {cost.slots} workers, as "
        "measured on a few steps now; starting the workers takes additional time.",
    ]
