"""The summary of an architecture: rows of names and words, plain values, HTML."""

from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from ..doctor.finding import SEVERITIES, Finding, at_least
from ..geometry.anisotropy import Place
from ..learning import Forecast
from ..learning.validity import ALL, validity_of
from ..overview import Summary
from .assumptions import PREDICTED
from .forecast import forecast_summary, outstanding
from .markup import facts
from .numbers import counted, percentage, sizes, span, with_error
from .tables import drawn_lines

if TYPE_CHECKING:
    from rich.table import Table

MARKS = {"error": "✗", "warning": "!", "note": "·"}
HEALTHY = "✓"
PENDING = "..."
DATA = "gaussian"  # exists in every shape, so that the printed line works unchanged
WIDTH = 100  # characters, unless the terminal says otherwise
ORIGINS = {
    "configuration": "made again from its configuration",
    "arguments": "made again with the arguments that it keeps",
    "reset": "made again by its method reset_parameters",
    "measured": "parameters redrawn from the distributions that they show, because its class does "
    "not say how it is initialised; to be sure, give a function that makes networks",
}


def summary_rows(summary: Summary) -> list[tuple[str, str]]:
    """Names and words, in the order in which they are measured."""
    rows = [("parameters", _parameters(summary))]
    if summary.origin is not None:
        rows.append(("fresh networks", ORIGINS[summary.origin]))
    rows.append(("predicts", _predicts(summary)))
    rows += _doctor_rows(summary)
    rows.append(("anisotropy", _anisotropy(summary)))
    rows += [(name, _place(place)) for name, place in _grouped(summary.places)]
    rows.append(("learned last", _learned_last(summary)))
    return rows


def _untold(summary: Summary, part: str) -> str:
    return next((f"not told: {why}" for name, why in summary.untold if name == part), PENDING)


def _parameters(summary: Summary) -> str:
    if summary.parameters is None or summary.trained is None:
        return PENDING
    still = summary.parameters - summary.trained
    return f"{summary.parameters:,}" + (f", {still:,} of them do not move" if still else "")


def _predicts(summary: Summary) -> str:
    taken = summary.assumptions
    if taken is None:
        return PENDING
    words = f"{PREDICTED[taken.prediction]}, {taken.schedule} schedule with {taken.steps} steps"
    return words + "".join(f". Caution: {hint}" for hint in taken.hints)


def _doctor_rows(summary: Summary) -> list[tuple[str, str]]:
    diagnosis = summary.diagnosis
    if diagnosis is None:
        return [("doctor", _untold(summary, "doctor"))]
    if not diagnosis.findings:
        return [("doctor", f"{HEALTHY} nothing found")]
    loud = [one for one in diagnosis.findings if one.severity != SEVERITIES[-1]]
    rows = [("doctor", _finding(one)) for one in loud]
    notes = [one.code for one in diagnosis.findings if one.severity == SEVERITIES[-1]]
    if notes:
        word = "note" if len(notes) == 1 else "notes"
        mark = MARKS[SEVERITIES[-1]] if loud else HEALTHY
        rows.append(("doctor", f"{mark} {word}: {', '.join(notes)}"))
    return rows


def _finding(finding: Finding) -> str:
    return f"{MARKS[finding.severity]} {finding.code}: {finding.meaning}"


def _anisotropy(summary: Summary) -> str:
    if summary.effective is None or summary.effective_error is None:
        return _untold(summary, "geometry")
    size = int(np.prod(summary.shape))
    value = with_error(summary.effective, summary.effective_error, 3)
    even = (
        "all alike" if size - summary.effective < 2 * summary.effective_error + 1e-9 else "uneven"
    )
    behind = "a closed form" if not summary.networks else f"{summary.networks:,} networks"
    return f"{even}: as if all scores lay in {value} of {size:,} directions ({behind})"


def _grouped(places: tuple[tuple[str, Place], ...]) -> list[tuple[str, Place]]:
    """The places of the channels, in one row if all are the same."""
    means = [(name, place) for name, place in places if name.startswith("mean of channel")]
    alike = len({(p.band.first, p.band.last, round(p.share, 2)) for _, p in means}) == 1
    if len(means) > 1 and alike:
        return [("means of channels", means[0][1]), *places[len(means) :]]
    return list(places)


def _place(place: Place) -> str:
    first, last = place.band.first, place.band.last
    levels = f"level {first}" if first == last else f"levels {first} to {last}"
    times = f"{place.relative:.2g} times the mean eigenvalue"
    if place.band.null:
        return f"{percentage(place.share)} in the null space, {levels}; {times}"
    if place.share < 0.5:
        return f"spread: half in levels 0 to {place.half:,}; {times}"
    return f"{percentage(place.share)} in the band of {levels}; {times}"


def _learned_last(summary: Summary) -> str:
    forecast = summary.forecast
    if forecast is None:
        return _untold(summary, "forecast")
    if not forecast.has_order:
        return f"no order to forecast on {summary.data} (p = {forecast.p_value:.2g})"
    late = outstanding(-forecast.drift, forecast.drift_error)
    if not len(late):
        return f"no direction is late beyond its own error, on {summary.data}"
    last = int(late[0])
    usual = float(np.median(forecast.drift))
    if usual <= 0:
        return f"{forecast.labels[last]}, on {summary.data}; the first step makes most others worse"
    pace = float(forecast.drift[last]) / usual, float(forecast.drift_error[last]) / usual
    return (
        f"{forecast.labels[last]}, on {summary.data}: the first step learns it at "
        f"{with_error(*pace, 2)} of the median pace. {_validity(forecast)}"
    )


def _validity(forecast: Forecast) -> str:
    kind = forecast.about.get("kind", ALL)
    record = validity_of("cosines", "early", forecast.method, kind)
    if record is None or not record.with_order:
        return "How often such forecasts are right is not known for this kind of network."
    which = "small networks" if record.kind == ALL else f"small {record.kind}s"
    cases = counted(record.with_order, "case")
    return f"Such forecasts were right in {record.right} of {cases} of {which}."


def nothing_told(summary: Summary) -> bool:
    """Whether no part could be measured, as where the shape is not one that the network takes."""
    return {"geometry", "doctor", "forecast"} <= dict(summary.untold).keys()


def next_step(summary: Summary) -> tuple[str, str] | None:
    """What to do next: the reason, and a line to paste into a shell or into Python."""
    diagnosis = summary.diagnosis
    if diagnosis is None and not summary.untold:
        return None
    loud = diagnosis is not None and at_least(diagnosis.findings, "warning")
    if summary.spelled:
        where = f"{quote(summary.network)} --shape {sizes(summary.shape)}"
        doctor, forecast = f"sads doctor {where}", f"sads forecast {where} --data {quote(DATA)}"
    else:
        name = summary.network if summary.network.isidentifier() else "network"
        name = name if summary.origin is None else "network"
        doctor = f"print(sads.diagnose({name}, shape={summary.shape}))"
        forecast = f'print(sads.forecast({name}, "{DATA}", shape={summary.shape}))'
    if loud or nothing_told(summary):
        return "what to change", doctor
    return (
        f"what training will learn first and last; put your own data in place of {DATA}",
        forecast,
    )


def summary_values(summary: Summary) -> dict[str, Any]:
    """What `sads summary --json` prints."""
    return {
        "network": summary.network,
        "shape": list(summary.shape),
        "parameters": summary.parameters,
        "trained": summary.trained,
        "origin": summary.origin,
        "assumptions": None if summary.assumptions is None else asdict(summary.assumptions),
        "findings": []
        if summary.diagnosis is None
        else [asdict(f) for f in summary.diagnosis.findings],
        "effective_directions": summary.effective,
        "effective_directions_error": summary.effective_error,
        "networks": summary.networks,
        "places": [
            {
                "directions": name,
                "first": place.band.first,
                "last": place.band.last,
                "share": place.share,
                "half": place.half,
                "relative_eigenvalue": place.relative,
            }
            for name, place in summary.places
        ],
        **forecast_values(summary.forecast),
        "untold": dict(summary.untold),
        "next": None if (step := next_step(summary)) is None else step[1],
        "seconds": summary.seconds,
    }


def forecast_values(forecast: Forecast | None) -> dict[str, Any]:
    """What `sads summary --json` prints of the forecast."""
    return {
        "forecast": None if forecast is None else forecast_summary(forecast),
        "learned_last": _last(forecast),
    }


def _last(forecast: Forecast | None) -> str | None:
    if forecast is None or not forecast.has_order:
        return None
    late = outstanding(-forecast.drift, forecast.drift_error)
    return forecast.labels[int(late[0])] if len(late) else None


def title(summary: Summary) -> str:
    """The table's title."""
    return f"{summary.network} on {sizes(summary.shape)}"


def table(summary: Summary) -> "Table":
    """The table for a terminal."""
    from rich.table import Table
    from rich.text import Text  # names are not markup

    drawn = Table(title=Text(title(summary)), title_justify="left", show_header=False)
    before = ""
    for name, value in summary_rows(summary):
        drawn.add_row(Text("" if name == before else name), Text(value))
        before = name
    return drawn


def closing(summary: Summary) -> str:
    """The text below the table; the command has its own line, so that it is easy to copy."""
    step = next_step(summary)
    return "" if step is None else f"Next, {step[0]}:\n  {step[1]}"


def text(summary: Summary) -> str:
    """The table as lines of text."""
    lines = drawn_lines(table(summary), WIDTH)
    return "\n".join([*lines, closing(summary), f"({span(summary.seconds)})"])


def html(summary: Summary) -> str:
    """The same for notebooks."""
    return facts(
        title(summary), [*summary_rows(summary), ("next", " ".join(next_step(summary) or ()))]
    )
