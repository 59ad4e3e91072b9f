"""What a page shows about a training that a monitor has followed."""

from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from ..learning import TrainingRecord
from ..presentation.training_record import learned_by_level, record_cells, record_sentences

WIDTH, HEIGHT = 420, 240
LEFT, RIGHT, TOP, BOTTOM = 38, 8, 10, 30  # margins of the plot
LINES, POINTS = 60, 128  # drawn at most
TICKS = (0, 25, 50, 75, 100)


def training_view(record: TrainingRecord) -> dict[str, Any]:
    """Words, curves, a table and shares by noise level."""
    header, rows = record_cells(record)
    late = {lag.label for lag in record.lagging()}
    return {
        "sentences": record_sentences(record),
        "header": header,
        "rows": [{"cells": cells, "late": cells[0] in late} for cells in rows],
        "curves": _curves(record, late),
        "levels": _levels(record) if record.windows else None,
        "data_known": record.unavoidable is not None,
    }


def _curves(record: TrainingRecord, late: set[str]) -> dict[str, Any] | None:
    """Learned shares over the updates, as points of an SVG; None where there is no course yet."""
    learned = record.learned()
    if len(learned) < 2 or not np.isfinite(learned).any():
        return None
    step = -(-len(learned) // POINTS)
    middles = np.array([(w.first + w.end) / 2 for w in record.windows])[::step]
    shown = learned[::step]
    low = min(0.0, max(-0.5, float(np.nanmin(shown))))
    x = LEFT + (WIDTH - LEFT - RIGHT) * middles / record.updates
    y = TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - np.clip(shown, low, 1.0)) / (1.0 - low)
    lags = [g for g, label in enumerate(record.labels) if label in late]
    others = [g for g in range(len(record.labels)) if record.labels[g] not in late]
    drawn = others[:: max(1, -(-len(others) // LINES))]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "lines": [_line(record.labels[g], x, y[:, g], late=g in lags) for g in (*drawn, *lags)],
        "ticks": [
            (TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - t / 100) / (1.0 - low), f"{t} %") for t in TICKS
        ],
        "late": bool(lags),
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "bottom": HEIGHT - BOTTOM,
        "updates": f"{record.updates:,}",
    }


def _line(
    label: str, x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], *, late: bool
) -> dict[str, Any]:
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True) if np.isfinite(b))
    return {"label": label, "points": points, "late": late}


def _levels(record: TrainingRecord) -> dict[str, Any]:
    """Shares by direction and noise level: a number and one of eleven shades each."""
    shares = learned_by_level(record)
    edges = record.edges
    return {
        "header": [f"{a:.4g}–{b:.4g}" for a, b in pairwise(edges)],
        "rows": [
            (label, [_cell(float(value)) for value in row])
            for label, row in zip(record.labels, shares, strict=True)
        ],
    }


def _cell(share: float) -> tuple[str, str]:
    """The number in per cent and its shade; empty where it is not known."""
    if np.isnan(share):
        return "", "none"
    percent = round(100 * max(-9.99, min(share, 9.99)))
    return f"{percent}", f"{min(max(percent, 0), 100) // 10}"
