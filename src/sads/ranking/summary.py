"""A ranking in plain values and in words."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..networks.adapters import sentences_of
from .ranking import TOLD_APART, Ranking
from .validity import VALIDITY, validity_sentences

SCORE = "D tr(GC) / (tr G tr C)"
_BASELINES = ("parameters", "synflow", "jacobian")


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
    shape = "x".join(map(str, ranking.shape))
    said = [
        *sentences_of([(entry.network, entry.assumptions) for entry in ranking.entries]),
        f"{ranking.data}: {ranking.count:,} samples of {shape}. Score {SCORE}: 1 is isotropic, "
        "lower is predicted to do better.",
        *_table(ranking),
        "order: probability that the true score is below the next one's. In brackets the place "
        "that a baseline gives (log SynFlow and Jacobian covariance: means over a few "
        "initialisations).",
    ]
    said += [
        f"Not told apart (probability below {TOLD_APART}): {', '.join(group)}."
        for group in ranking.ties
    ]
    return [*said, *validity_sentences()]


def _table(ranking: Ranking) -> list[str]:
    places = {name: _places(ranking, name) for name in _BASELINES}
    rows = [["", "network", "score", "order", "parameters", "SynFlow", "Jacobian"]]
    for i, entry in enumerate(ranking.entries):
        order = "" if entry.below_next is None else f"{entry.below_next:.3f}"
        score = f"{entry.score:.4f} +- {entry.score_error:.4f}"
        row = [str(i + 1), entry.network, score, order]
        for name in _BASELINES:
            value = getattr(entry.baselines, name)
            digits = ",d" if name == "parameters" else ",.1f"
            row.append("-" if value is None else f"{value:{digits}} ({places[name][i]})")
        rows.append(row)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [_line(row, widths) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Names to the left, numbers to the right."""
    cells = [
        text.ljust(width) if column == 1 else text.rjust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _places(ranking: Ranking, baseline: str) -> list[int]:
    """Place of each entry by a baseline, the largest first; equal values share a place."""
    values = [getattr(entry.baselines, baseline) for entry in ranking.entries]
    return [
        1 + sum(v is not None and own is not None and v > own for v in values) for own in values
    ]
