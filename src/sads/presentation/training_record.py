"""The record of a monitor in words, in plain values, as a table and as a picture."""

import re
from html import escape
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from ..learning import Lag, TrainingRecord
from ..statistics.ranks import rank_correlation
from .numbers import counted, percentage, sizes
from .tables import text_table

NAMED = 3  # directions that a sentence names
CELL = 12  # pixels a side of one direction at one noise level in a picture
MEAN = re.compile(r"mean of channel \d+")
NO_DATA = (
    "How much of the loss cannot be avoided is not known here: directions along which the data "
    "vary much have less to learn and look late. Give the monitor the data: Monitor(shape, "
    "data=...)."
)


def record_sentences(record: TrainingRecord) -> list[str]:
    """Which directions lag and since when, how that shows in samples, and the forecast."""
    if not record.windows:
        return ["Nothing has been seen yet."]
    lags = record.lagging()
    lines = [_standing(record, lags)]
    lines += [_lag_sentence(lag) for lag in lags[:NAMED]]
    if len(lags) > NAMED:
        lines.append(f"{counted(len(lags) - NAMED, 'more direction')} lag too, see the table.")
    lines += _what_it_looks_like(lags)
    if record.unavoidable is None:
        lines.append(NO_DATA)
    lines += _forecast_sentences(record)
    if record.skipped:
        lines.append(
            f"{counted(record.skipped, 'sample')} had values that are not finite and were left out."
        )
    return lines


def _standing(record: TrainingRecord, lags: tuple[Lag, ...]) -> str:
    seen = f"After {counted(record.updates, 'update')} on {sizes(record.shape)} samples"
    learned = record.learned()[-1]
    known = learned[np.isfinite(learned)]
    if not len(known):
        return f"{seen}, how much of the target is learned cannot be told."
    usual = f"the median direction has learned {_share(float(np.median(known)))}"
    if len(record.windows) < 2:
        return f"{seen}, {usual}; lagging directions are named from the second window on."
    if np.median(known) <= 0:
        return f"{seen}, {usual}: it is too early to say what lags."
    if not lags:
        return f"{seen}, {usual} of what there is to learn, and none lags behind it."
    lag = "lags" if len(lags) == 1 else "lag"
    return f"{seen}, {usual} of what there is to learn; {len(lags)} of {len(known)} {lag} behind."


def _lag_sentence(lag: Lag) -> str:
    since = "from the start" if lag.since == 0 else f"since update {lag.since:,}"
    return (
        f"{_capital(lag.label)} lags {since}: {_share(lag.learned)} is learned, against "
        f"{_share(lag.usual)} in the median."
    )


def _share(value: float) -> str:
    return (
        percentage(round(value, 3))
        if value > -0.0005
        else "less than nothing (an output of zero would be better)"
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _what_it_looks_like(lags: tuple[Lag, ...]) -> list[str]:
    """How samples suffer, where that follows from the directions alone."""
    means = [lag.label for lag in lags if MEAN.fullmatch(lag.label)]
    if not means:
        return []
    return [
        f"Samples get their brightness and tint from {'it' if len(means) == 1 else 'these means'}: "
        "they may come out tinted, too bright or dark, or blank, however fine their details."
    ]


def _forecast_sentences(record: TrainingRecord) -> list[str]:
    forecast = record.forecast
    if forecast is None:
        return []
    if not forecast.has_order:
        return ["The forecast saw no order in which these directions would be learned."]
    last = record.labels[int(np.argmin(forecast.drift))]
    line = f"Forecast to be learned last: {last} (by {forecast.method})."
    half = _half_learned(record)
    if half is not None:
        known = np.isfinite(half)
        agreement = rank_correlation(forecast.drift[known], half[known])
        line += (
            " When the median direction had learned half, forecast and learned shares agreed at "
            f"{agreement:.2f} (Spearman over {known.sum()} directions)."
        )
    return [line]


def _half_learned(record: TrainingRecord) -> Float[np.ndarray, " k"] | None:
    """The shares of the first window in which the median direction has learned half."""
    for row in record.learned():
        known = row[np.isfinite(row)]
        if len(known) >= 3 and np.median(known) >= 0.5:
            return row
    return None


def record_rows(record: TrainingRecord) -> list[dict[str, Any]]:
    """A row for each group of directions: what is learned, its error, its loss, its forecast."""
    if not record.windows:
        return []
    learned, error = record.learned()[-1], record.learned_error()[-1]
    window = record.windows[-1]
    loss = record.loss_of(window)[:, window.count > 0].mean(axis=1)
    lags = {lag.label: lag for lag in record.lagging()}
    places = None if record.forecast is None else record.forecast.places
    return [
        {
            "direction": label,
            "width": int(record.widths[g]),
            "learned": float(learned[g]) if np.isfinite(learned[g]) else None,
            "error": float(error[g]) if np.isfinite(error[g]) else None,
            "loss": float(loss[g]),
            "lags_since": lags[label].since if label in lags else None,
            "forecast_place": None if places is None else int(places[g]),
        }
        for g, label in enumerate(record.labels)
    ]


def record_cells(record: TrainingRecord) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the table of directions."""
    found = record_rows(record)
    lags = any(row["lags_since"] is not None for row in found)
    header = ["directions", "width", "learned", "loss", *(["lags since"] if lags else [])]
    if record.forecast is not None:
        header.append("forecast place")
    rows = []
    for row in found:
        share = "nothing to learn" if row["learned"] is None else f"{round(100 * row['learned'])} %"
        if row["error"] is not None:
            share += f" ± {100 * row['error']:.1f}"
        late = row["lags_since"]
        since = "" if late is None else f"update {late:,}" if late else "the start"
        cells = [row["direction"], f"{row['width']:,}", share, f"{row['loss']:.4g}"]
        cells += [since] if lags else []
        rows.append(cells + ([] if record.forecast is None else [f"{row['forecast_place']}"]))
    return header, rows


def record_summary(record: TrainingRecord) -> dict[str, Any]:
    """Plain values, for `--json`."""
    return {
        "shape": list(record.shape),
        "updates": record.updates,
        "skipped": record.skipped,
        "edges": record.edges.tolist(),
        "data_known": record.unavoidable is not None,
        "directions": record_rows(record),
        "sentences": record_sentences(record),
    }


def text(record: TrainingRecord) -> str:
    """The words and the table."""
    header, rows = record_cells(record)
    table = text_table(header, rows, numbers=header[1:4])
    return "\n".join([*record_sentences(record), "", *table])


def html(record: TrainingRecord) -> str:
    """The same for notebooks."""
    words = "".join(f"<p>{escape(line)}</p>" for line in record_sentences(record))
    header, rows = record_cells(record)
    table = "\n".join(text_table(header, rows, numbers=header[1:4]))
    return f"{words}<pre>{escape(table)}</pre>"


def learned_by_level(record: TrainingRecord) -> Float[np.ndarray, "k B"]:
    """The learned share in the last window by direction and noise level; NaN where unknown."""
    window = record.windows[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        energy, loss = (
            (part / window.count[:, None]).T / record.widths[:, None]
            for part in (window.target, window.energy)
        )
        floor = 0.0 if record.unavoidable is None else record.unavoidable
        whole = energy - floor
        share = (energy - loss) / whole
    return np.where(whole > 0.02 * energy, share, np.nan)


def picture(record: TrainingRecord) -> UInt8[np.ndarray, "H W 3"]:
    """Learned shares, directions downwards and noise levels to the right; grey where unknown."""
    share = learned_by_level(record)
    low, high = np.array([213, 94, 0.0]), np.array([0, 114, 178.0])  # the palette's orange and blue
    mixed = np.clip(np.nan_to_num(share), 0, 1)[..., None]
    colours = np.where(np.isnan(share)[..., None], 128.0, (1 - mixed) * low + mixed * high)
    return np.kron(colours.round(), np.ones((CELL, CELL, 1))).astype(np.uint8)
