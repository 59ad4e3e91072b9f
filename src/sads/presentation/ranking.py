"""A ranking, and how far such rankings can be trusted, in plain values and in words."""

from dataclasses import asdict
from typing import Any

from ..ranking.ranking import TOLD_APART, Ranking
from ..ranking.validity import SIGNIFICANT, VALIDITY
from . import assumptions
from .numbers import sizes
from .tables import text_table

SCORE = "D tr(GC) / (tr G tr C)"
_BASELINES = {"parameters": "parameters", "synflow": "SynFlow", "jacobian": "Jacobian"}


def summary(ranking: Ranking) -> dict[str, Any]:
    """What `sads rank --json` prints."""
    return {
        "data": ranking.data,
        "count": ranking.count,
        "shape": list(ranking.shape),
        "assumptions": {
            entry.network: None if entry.assumptions is None else asdict(entry.assumptions)
            for entry in ranking.entries
        },
        "score": SCORE,
        "ranking": [
            {
                "rank": place,
                "network": entry.network,
                "score": entry.score,
                "score_error": entry.score_error,
                "below_next": entry.below_next,
                "networks": entry.networks,
                **asdict(entry.baselines),
            }
            for place, entry in enumerate(ranking.entries, start=1)
        ],
        "ties": [list(group) for group in ranking.ties],
        "validity": [asdict(measured) for measured in VALIDITY],
    }


def sentences(ranking: Ranking) -> list[str]:
    """The table, ties by name, and how far the score can be trusted."""
    lines = [
        *assumptions.sentences([(entry.network, entry.assumptions) for entry in ranking.entries]),
        f"{ranking.data}: {ranking.count:,} samples of {sizes(ranking.shape)}. Score {SCORE}: 1 is "
        "isotropic, lower is predicted to do better.",
        *_table(ranking),
        "order: probability that the true score is below the next one's. In brackets the place "
        "that a baseline gives (log SynFlow and Jacobian covariance: means over a few "
        "initialisations).",
    ]
    lines += [
        f"Not told apart (probability below {TOLD_APART}): {', '.join(group)}."
        for group in ranking.ties
    ]
    return [*lines, *validity_sentences()]


def _table(ranking: Ranking) -> list[str]:
    places = {name: _places(ranking, name) for name in _BASELINES}
    rows = []
    for i, entry in enumerate(ranking.entries):
        order = "" if entry.below_next is None else f"{entry.below_next:.3f}"
        row = [str(i + 1), entry.network, f"{entry.score:.4f} ± {entry.score_error:.4f}", order]
        for name in _BASELINES:
            value = getattr(entry.baselines, name)
            digits = ",d" if name == "parameters" else ",.1f"
            row.append("-" if value is None else f"{value:{digits}} ({places[name][i]})")
        rows.append(row)
    numbers = ["", "score", "order", *_BASELINES.values()]
    return text_table(
        ["", "network", "score", "order", *_BASELINES.values()], rows, numbers=numbers
    )


def _places(ranking: Ranking, baseline: str) -> list[int]:
    """Place of each entry by a baseline, the largest first; equal values share a place."""
    values = [getattr(entry.baselines, baseline) for entry in ranking.entries]
    return [
        1 + sum(v is not None and own is not None and v > own for v in values) for own in values
    ]


def validity_sentences() -> list[str]:
    """What rankings were worth where it was measured: a line for each dataset, and a verdict."""
    lines = []
    for dataset in dict.fromkeys(measured.dataset for measured in VALIDITY):
        scores = [measured for measured in VALIDITY if measured.dataset == dataset]
        rows = ", ".join(f"{v.score} {v.spearman:+.2f} (p = {v.p_value:.2g})" for v in scores)
        lines.append(
            f"Measured validity, {scores[0].architectures} small networks trained on {dataset}, "
            f"Spearman's correlation with the outcome, positive is right: {rows}."
        )
    return [*lines, _verdict()]


def _verdict() -> str:
    own = [measured for measured in VALIDITY if measured.score == "alignment"]
    right = [v.dataset for v in own if v.spearman > 0 and v.p_value < SIGNIFICANT]
    if len(right) == len(own):
        return "There the score told which architectures do better."
    if right:
        return f"There the score told which architectures do better on {', '.join(right)} only."
    reverse = [v.dataset for v in own if v.spearman < 0 and v.p_value < SIGNIFICANT]
    how = f"; on {', '.join(reverse)} its order was the reverse" if reverse else ""
    return (
        f"There the score did not tell which architectures do better{how}: read it as how the data "
        "lies in each geometry, not as advice which to train."
    )
