"""A ranking and how far it can be trusted, in plain values and in words."""

from dataclasses import asdict
from typing import Any

from ..ranking import Ranking
from ..ranking.validity import SIGNIFICANT, Validity, measured_validity
from . import assumptions
from .numbers import sizes, span
from .tables import text_table

_CRITERIA = {"constant": "error along the constant images", "total": "error in total"}


def summary(ranking: Ranking) -> dict[str, Any]:
    """What `sads rank --json` prints."""
    return {
        "data": ranking.data,
        "count": ranking.count,
        "shape": list(ranking.shape),
        "assumptions": {entry.network: asdict(entry.assumptions) for entry in ranking.entries},
        "method": ranking.method,
        "by": ranking.by,
        "level": ranking.level,
        "cost": {
            "seeds": ranking.seeds,
            "steps": ranking.steps,
            "share_of_training": ranking.share,
            "seconds": ranking.seconds,
        },
        "ranking": [
            {
                "rank": place,
                "network": entry.network,
                "value": entry.value,
                "value_error": entry.value_error,
                "constant": entry.constant,
                "total": entry.total,
                "steps": entry.steps,
                "before_next": entry.before_next,
            }
            for place, entry in enumerate(ranking.entries, start=1)
        ],
        "ties": [list(group) for group in ranking.ties],
        "validity": [asdict(row) for row in measured_validity()],
    }


def sentences(ranking: Ranking) -> list[str]:
    """The order, how sure it is, what it cost, and how often such orders were right before."""
    lines = [
        *assumptions.sentences([(entry.network, entry.assumptions) for entry in ranking.entries]),
        f"{ranking.data}: {ranking.count:,} training samples of {sizes(ranking.shape)}.",
        *_table(ranking),
        f"order: probability that a network does better than the next one, by its "
        f"{_CRITERIA.get(ranking.by, ranking.by)}.",
    ]
    lines += [
        f"Too close to call (probability below {ranking.level:g}): {', '.join(group)}."
        for group in ranking.ties
    ]
    if ranking.method == "pilot":
        lines.append(
            f"Cost: {ranking.seeds} trainings of each network, {ranking.steps:,} steps in all, "
            f"{span(ranking.seconds)}; {100 * ranking.share:.2g} % of the samples that the usual "
            "trainings of all networks would see."
        )
    name = f"pilot, {ranking.by}" if ranking.method == "pilot" else ranking.method
    return [*lines, *_before(name)]


def _table(ranking: Ranking) -> list[str]:
    rows = []
    for place, entry in enumerate(ranking.entries, start=1):
        order = "" if entry.before_next is None else f"{entry.before_next:.3f}"
        row = [str(place), entry.network, order]
        if ranking.method == "pilot":
            row += [f"{entry.constant:.4g}", f"{entry.total:.4g}", str(entry.steps)]
        else:
            row.append(f"{entry.value:.4g}")
        rows.append(row)
    values = ["constant", "total", "steps"] if ranking.method == "pilot" else [ranking.method]
    header = ["", "network", "order", *values]
    return text_table(header, rows, numbers=["", "order", *values])


def _before(name: str) -> list[str]:
    """How often orders made in this way were right before."""
    rows = [row for row in measured_validity() if row.score == name]
    if not rows:
        return ["How often orders by this criterion are right has not been measured."]
    lines = [
        f"Before: over {row.architectures} small networks trained on {_where(row)}, Spearman's "
        f"correlation of this order with that of the samples' distance to held-out data was "
        f"{row.spearman:+.2f} (95 % {row.interval[0]:+.2f} to {row.interval[1]:+.2f}, p = "
        f"{row.p_value:.2g}; positive is right)."
        for row in rows
    ]
    if not all(row.right for row in rows):
        lines.append(
            "So it has not been shown that this order says which network is better in the end: "
            "it says which is ahead after these steps."
        )
    return lines


def validity_sentences() -> list[str]:
    """How well each way of ranking did: a line for each dataset and pool, and a verdict."""
    known = measured_validity()
    lines = []
    for where in dict.fromkeys(map(_where, known)):
        scores = [measured for measured in known if _where(measured) == where]
        rows = ", ".join(f"{v.score} {v.spearman:+.2f} (p = {v.p_value:.2g})" for v in scores)
        lines.append(
            f"Measured validity, {scores[0].architectures} small networks trained on {where}, "
            f"Spearman's correlation with the outcome, positive is right: {rows}."
        )
    return [*lines, _verdict([row for row in known if row.score == "alignment"])]


def _where(row: Validity) -> str:
    """The dataset, and the pool if it is not the first."""
    pools = {"first": "", "both": " (both pools)"}
    return row.dataset + pools.get(row.pool, f" ({row.pool} pool)")


def _verdict(alignment: list[Validity]) -> str:
    right = [_where(row) for row in alignment if row.right]
    if len(right) == len(alignment):
        return "There the alignment predicted which architectures do better."
    if right:
        return f"The alignment predicted which architectures do better on {', '.join(right)} only."
    reverse = [_where(r) for r in alignment if r.spearman < 0 and r.p_value < SIGNIFICANT]
    how = f"; on {', '.join(reverse)} its order was the reverse" if reverse else ""
    return (
        f"There the alignment did not predict which architectures do better{how}: it says how the "
        "data lies in each geometry and is no advice on which to train. sads rank compares "
        "architectures by short trainings."
    )
