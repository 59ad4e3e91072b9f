"""What the template shows: tables of text, and the sentences that `sentences` makes."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from ..directions import Band, Spectrum
from ..doctor.worth import worth_of
from ..geometry import Geometry
from ..presentation.alignment import measured_sentences, notes
from ..presentation.doctor import folded_findings, usual_line, worth_of_remedies
from ..presentation.geometry import networks_behind, taken_as, whitened_error
from ..presentation.numbers import sizes, with_error
from ..presentation.ranking import validity_sentences
from .commands import geometry_command
from .forecasts import forecast_view
from .sentences import Answer, differs, held
from .subjects import Subject
from .sweep_measurements import NOT_ROTATED, Sheet, SweepReading

MOST_BANDS = 400  # rows of a table of bands
MOST_LINES = 20  # about a sweep


def view(
    subjects: Sequence[Subject],
    answers: Sequence[Answer],
    reading: SweepReading | None,
    sheets: Sequence[Sheet],
    command: str,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    """All texts of the page."""
    first = subjects[0]
    several = len(subjects) > 1
    names = list(dict.fromkeys(subject.main.geometry.plan.network for subject in subjects))
    return {
        "title": ", ".join(names),
        "names": names,
        "shape": sizes(first.main.geometry.shape),
        "size": first.main.geometry.structure.size,
        "version": version("sads"),
        "command": command,
        "several": several,
        "held": held(several=several),
        "rotations": measured_sentences(),
        "validity": validity_sentences() if several else [],
        "forecasts": [
            forecast_view(s.main.label, s.forecast_directory, s.forecast)
            for s in subjects
            if s.forecast is not None
        ],
        "piloted": any(s.forecast is not None and s.forecast.method == "pilot" for s in subjects),
        "subjects": [_subject(*both) for both in zip(subjects, answers, strict=True)],
        "levels": [
            _levels(place, subject, tell)
            for place, subject in enumerate(subjects)
            if subject.levels
        ],
        "examined": any(one.diagnosis or one.unexamined for one in subjects),
        "sweep": reading,
        "sweep_lines": [] if reading is None else reading.lines[:MOST_LINES],
        "unmatched": not any(subject.measured for subject in subjects),
        "sheets": list(sheets),
        "rotated": any(sheet.title != NOT_ROTATED for sheet in sheets),
        "data": first.alignment.data if first.alignment else None,
    }


def _subject(subject: Subject, answer: Answer) -> dict[str, Any]:
    main, diagnosis = subject.main, subject.diagnosis
    told, folded = ([], []) if diagnosis is None else folded_findings(diagnosis)
    return {
        "name": main.label,
        "directory": main.directory,
        "taken_as": " ".join(taken_as(main.geometry.plan)).replace("`", ""),
        "answer": answer,
        "notes": [] if subject.alignment is None else notes(subject.alignment),
        "bands": _bands(subject),
        "hidden_bands": max(0, len(main.geometry.spectrum().bands) - MOST_BANDS),
        "diagnosis": diagnosis,
        "findings": [(one, worth_of_remedies(worth_of(one.code))) for one in told],
        "usual": usual_line(folded) if folded else "",
        "unexamined": subject.unexamined,
        "facts": _facts(main.geometry),
        "commands": [geometry_command(n.geometry, n.directory) for n in (main, *subject.levels)],
    }


def _bands(subject: Subject) -> list[dict[str, str]]:
    """The table of bands, for readers who do not see the plot."""
    spectrum = subject.main.geometry.spectrum()
    values, errors = spectrum.eigenvalues, spectrum.eigenvalue_errors
    shares = None if subject.alignment is None else [p.share for p in subject.alignment.profile]
    measured = {(m.first, m.last): with_error(m.mean, m.error) for m in subject.measured}
    rows = []
    for place, band in enumerate(spectrum.bands[:MOST_BANDS]):
        part = slice(band.first, band.last + 1)
        error = errors[part].mean() or None  # exact values have no error
        rows.append(
            {
                "indices": _range(band.first, band.last),
                "eigenvalue": with_error(values[part].mean(), error),
                "window": f"± {spectrum.windows[part].max()}",
                "index": _interval(spectrum, band),
                "certificate": _certificate(band),
                "share": "" if shares is None else f"{shares[place]:.2%}",
                "msw2": measured.get((band.first, band.last), ""),
            }
        )
    return rows


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def _interval(spectrum: Spectrum, band: Band) -> str:
    """The indices that the levels of a band may have."""
    levels = [one for one in spectrum.resolution if band.first <= one.index <= band.last]
    return _range(min(one.index_low for one in levels), max(one.index_high for one in levels))


def _certificate(band: Band) -> str:
    if band.exact:
        return "exact"
    verdict = "certified" if band.certified else "not certified"
    return f"{verdict}, {band.overlap:.3f} ± {band.overlap_error:.3f}"


def _facts(geometry: Geometry) -> list[tuple[str, str]]:
    """Provenance, as names and values."""
    plan = geometry.plan
    first, end = plan.timesteps
    facts = [
        ("network", plan.network),
        ("shape", sizes(plan.shape)),
        ("probe", plan.probe),
        ("timesteps", f"{first} to {end - 1} of {plan.steps}, schedule {plan.schedule}"),
        ("weighting", plan.weighting),
        ("estimator", plan.estimator),
        ("networks", networks_behind(geometry)),
        ("whitened error", whitened_error(geometry)),
        ("finished", "yes" if geometry.state.finished else "no: the run is not finished"),
        ("seed", str(plan.seed)),
        ("last layer", plan.readout.last_layer + (f" ({plan.note})" if plan.note else "")),
        ("features in", "float64" if plan.precision is None else plan.precision.features),
        ("symmetries", ", ".join(geometry.symmetries) or "none"),
        ("fingerprint", plan.fingerprint[:16]),
        ("versions", ", ".join(f"{k} {v}" for k, v in plan.versions.items())),
        ("seconds", f"{geometry.state.seconds:.1f}"),
    ]
    if plan.subspace is not None:
        share, error = geometry.inside
        facts.append(("subspace", f"{plan.subspace}, {share:.2%} ± {error:.1%} of tr G inside"))
    if plan.redrawn:
        facts.append(("redrawn, since the output is zero", ", ".join(plan.redrawn)))
    return facts


def _levels(place: int, subject: Subject, tell: Callable[[str], None]) -> dict[str, Any]:
    rows = []
    for named in (subject.main, *subject.levels):
        tell(f"comparing {named.directory}")
        geometry, (first, end) = named.geometry, named.timesteps
        whole = named is subject.main
        rows.append(
            {
                "timesteps": f"{first}–{end - 1}",
                "directory": named.directory,
                "trace": f"{geometry.trace:.4g}",
                "error": whitened_error(geometry),
                "differs": "" if whole else differs(subject.main.geometry, geometry),
            }
        )
    return {"id": f"levels-{place}", "name": subject.main.label, "rows": rows}
