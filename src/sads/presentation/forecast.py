"""A forecast in plain values, in words and as a table."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..learning import Forecast
from ..learning.validity import ALL, LADDER, MINUS_G, Validity, validity_of
from .numbers import counted, with_error
from .tables import text_table

NAMED = 3  # directions that a sentence names
BEYOND = 2.0  # standard errors from the median before something is called early or late
MOST_ROWS = 24  # of the table
TARGETS = {
    "linear": "The target is the best linear prediction of the noise, that of Gaussian data of the "
    "same second moment: the optimum of the data itself is not known.",
    "spectrum": "The target is the optimum of Gaussian data of the same DCT spectrum in each "
    "channel: the optimum of the data itself is not known.",
}
DRIFTS = {
    "one step": "share of the target learned in one step, per unit of the learning rate",
    "tangent flow": "share of the target learned when half of all is, in the linearised training",
    "pilot": "share of the target learned after the first quarter of the pilot's steps",
}
NOISES = {
    "one step": "variance that batches stir up a step, per direction and squared learning rate",
    "tangent flow": "variance that batches stir up a step, per direction and squared learning rate",
    "pilot": "risk left after the pilot, per direction",
}


def forecast_summary(forecast: Forecast) -> dict[str, Any]:
    """What `sads forecast --json` prints."""
    validities = {
        outcome: _validity_summary(_validity(forecast, outcome)) for outcome in ("early", "late")
    }
    return {
        **forecast.about,
        "networks": forecast.networks,
        "way": forecast.way,
        "has_order": forecast.has_order,
        "p_value": forecast.p_value,
        "reliability": None if np.isnan(forecast.reliability) else forecast.reliability,
        "validity": validities,
        "directions": forecast.records(),
    }


def _validity(forecast: Forecast, outcome: str, method: str | None = None) -> Validity | None:
    about = forecast.about
    basis, kind = about.get("basis", "cosines"), about.get("kind", ALL)
    return validity_of(basis, outcome, method or forecast.method, kind)


def _validity_summary(validity: Validity | None) -> dict[str, Any] | None:
    if validity is None:
        return None
    return {
        "basis": validity.basis,
        "kind": validity.kind,
        "looked_at": validity.looked_at,
        "with_order": validity.with_order,
        "right": validity.right,
        "median": validity.median,
        "passed": validity.passed,
    }


def forecast_sentences(forecast: Forecast) -> list[str]:
    """What is learned early or late, what stays noisy, and how often such forecasts were right."""
    about, bands = forecast.about, forecast.by_band()
    recipe = about["recipe"]
    lines = [_order_sentence(bands), _noise_sentence(bands)]
    lines += _validity_sentences(forecast)
    lines.append(
        f"Behind it: {about['network']} on {about.get('data', 'data')}, {forecast.method} of "
        f"{counted(forecast.networks, 'fresh network')}, {recipe['optimiser']} with batches of "
        f"{recipe['batch_size']:,}."
    )
    if forecast.has_order and not np.isnan(forecast.reliability):
        lines[-1] += f" Another such forecast would agree at {forecast.reliability:.2f} (Spearman)."
    if about.get("target") in TARGETS:
        lines.append(TARGETS[about["target"]])
    if forecast.way != "forward":
        lines.append(
            f"Some operation of the network has no forward derivative: {forecast.way} took its "
            "place."
        )
    return lines


def _order_sentence(bands: Forecast) -> str:
    if len(bands.drift) == 1:
        value = with_error(float(bands.drift[0]), float(bands.drift_error[0]), 3)
        return f"One direction has no order: {bands.labels[0]} is learned at {value}."
    if not bands.has_order:
        return (
            "There is no order to forecast: the directions do not differ beyond the errors "
            f"(p = {bands.p_value:.2g})."
        )
    early = outstanding(bands.drift, bands.drift_error)
    late = outstanding(-bands.drift, bands.drift_error)
    if not len(early) and not len(late):
        return (
            f"The directions differ (p = {bands.p_value:.2g}), but too few networks were looked at "
            "to name those that are learned early or late."
        )
    return " ".join(
        f"Learned {when}: {_named(bands, which, bands.drift, bands.drift_error)}."
        for when, which in (("early", early), ("late", late))
        if len(which)
    )


def outstanding(
    values: Float[np.ndarray, " k"], errors: Float[np.ndarray, " k"]
) -> Int[np.ndarray, " n"]:
    """The few that are certainly above the median of all, the most certain first."""
    least = values - BEYOND * errors
    above = np.flatnonzero(least > np.median(values))
    return above[np.argsort(-least[above])][: min(NAMED, max(1, len(values) // 2))]


def _noise_sentence(bands: Forecast) -> str:
    noisiest = outstanding(bands.noise, bands.noise_error)
    if not bands.has_noisy_order or not len(noisiest):
        return "No direction is noisier than the others beyond the errors."
    named = _named(bands, noisiest, bands.noise, bands.noise_error)
    late = _validity(bands, "late")
    if late is not None and late.passed:
        return f"Stays noisy: {named}."
    return f"Noisiest at the start: {named}. That this stays so is not established."


def _named(
    bands: Forecast,
    which: Int[np.ndarray, " n"],
    values: Float[np.ndarray, " k"],
    errors: Float[np.ndarray, " k"],
) -> str:
    kind = "" if bands.eigenvalues is None else "eigenvectors "
    return kind + ", ".join(
        f"{bands.labels[i]} ({with_error(float(values[i]), float(errors[i]), 3)})" for i in which
    )


def _validity_sentences(forecast: Forecast) -> list[str]:
    """How often such forecasts have been right, as measured."""
    early, late = (_validity(forecast, outcome) for outcome in ("early", "late"))
    if early is None:
        return ["How often such forecasts are right has not been measured."]
    lines = [f"How often it was right: {_record(early, 'what is learned early')}"]
    if late is not None:
        line = _record(late, "what stays noisy")
        lines[0] += f" {line[0].upper()}{line[1:]}"
        pilot = _validity(forecast, "late", "pilot")
        if not late.passed and pilot is not None and pilot.passed:
            lines.append("For such networks a pilot (method pilot) has predicted what stays noisy.")
    return [*lines, *_ladder_sentences(forecast, early)]


def _ladder_sentences(forecast: Forecast, early: Validity) -> list[str]:
    """Why it is this method and not a cheaper one, or that none has passed."""
    known = {name: _validity(forecast, "early", name) for name in LADDER}
    passed = [name for name, v in known.items() if v is not None and v.passed]
    cheaper = LADDER[: LADDER.index(forecast.method)]
    below = [v for name in cheaper if (v := known[name]) is not None and not v.passed]
    if early.passed:
        return [f"Cheaper methods were right less often: {_counts(below)}."] if below else []
    if passed:
        return [f"For such networks another method has passed: {passed[0]}."]
    if not early.with_order:
        return []
    return ["No method has passed for such networks, so the order is only a guess."]


def _counts(validities: list[Validity]) -> str:
    return ", ".join(f"{v.method} in {v.right} of {v.with_order} cases" for v in validities)


def _record(validity: Validity, what: str) -> str:
    which = "small networks" if validity.kind == ALL else f"small networks of class {validity.kind}"
    which += f" trained by Adam, along {validity.basis}"
    if not validity.with_order:
        return f"there was no order of {what} in {counted(validity.looked_at, 'case')} of {which}."
    return (
        f"it predicted the order of {what}, to {validity.bar:.2g} of what noise allows, in "
        f"{validity.right} of {validity.with_order} cases of {which} (median "
        f"{validity.median:.2f})."
    )


Cells = tuple[list[str], list[list[str]], int, Float[np.ndarray, " n"]]


def forecast_cells(forecast: Forecast) -> Cells:
    """Header and rows of the bands, first learned on top; the number left out; and their drifts."""
    bands = forecast.by_band()
    order = np.argsort(-bands.drift)
    cut = len(order) > MOST_ROWS
    shown = [*order[: MOST_ROWS // 2], *order[-MOST_ROWS // 2 :]] if cut else [*order]
    header = ["directions", "width", "drift", "noise"]
    if bands.eigenvalues is not None:
        header.insert(2, "eigenvalue")
    rows = []
    for i in shown:
        row = [bands.labels[i], f"{bands.widths[i]:,}"]
        if bands.eigenvalues is not None:
            row.append(f"{bands.eigenvalues[i]:.4g}")
        row.append(with_error(float(bands.drift[i]), float(bands.drift_error[i]), 3))
        row.append(with_error(float(bands.noise[i]), float(bands.noise_error[i]), 3))
        rows.append(row)
    return header, rows, len(order) - len(shown), bands.drift[np.array(shown)]


def meanings(forecast: Forecast) -> list[str]:
    """What drift and noise are in the method at hand."""
    return [f"drift: {DRIFTS[forecast.method]}", f"noise: {NOISES[forecast.method]}"]


def forecast_table(forecast: Forecast) -> list[str]:
    """A line for each band, the first learned on top."""
    header, rows, hidden, _ = forecast_cells(forecast)
    lines = text_table(header, rows, numbers=header[1:])
    if hidden:
        lines.insert(1 + MOST_ROWS // 2, f"... {hidden:,} more between")
    return [*lines, *meanings(forecast)]


def eigenvalue_sentences() -> list[str]:
    """What the eigenvalues of G say about training, as measured."""
    late, early, step = (
        validity_of("eigenvectors", outcome, method, ALL)
        for outcome, method in (("late", "G"), ("early", MINUS_G), ("early", "one step"))
    )
    lines = []
    if late is not None and late.median is not None:
        lines.append(
            "Error tends to be left along large eigenvalues late in training, but loosely: "
            f"{_median(late)}."
        )
    if early is not None and step is not None and early.median is not None:
        lines.append(
            "Eigenvalues do not say what is learned first: the guess that small ones come first "
            f"reaches {_median(early)}. One training step does: {_median(step)} (sads forecast)."
        )
    return lines


def _median(validity: Validity) -> str:
    within = ""
    if validity.low is not None and validity.high is not None:
        within = f", {validity.low:.2f} to {validity.high:.2f}"
    return (
        f"a median of {validity.median:.2f} of the rank correlation that noise allows{within} "
        f"({validity.with_order} cases of small networks on Gaussian data)"
    )


def text(forecast: Forecast) -> str:
    """The words and the table."""
    return "\n".join([*forecast_sentences(forecast), "", *forecast_table(forecast)])


def html(forecast: Forecast) -> str:
    """The same for notebooks."""
    from html import escape

    words = "".join(f"<p>{escape(line)}</p>" for line in forecast_sentences(forecast))
    return f"{words}<pre>{escape(chr(10).join(forecast_table(forecast)))}</pre>"
