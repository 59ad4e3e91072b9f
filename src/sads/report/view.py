"""What the template shows, as plain text and tables of text."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from ..directions import Band, Spectrum
from ..doctor import Diagnosis
from ..geometry import Geometry
from ..presentation.alignment import notes
from ..presentation.geometry import taken_as
from ..presentation.ranking import validity_sentences
from .answer import held
from .levels import Architecture, Named, differs
from .measured import Sheet, SweepReading
from .reproduce import geometry_command
from .script_data import label
from .subject import Subject

MOST_BANDS = 400  # rows of a table of bands
MOST_LINES = 20  # of what a sweep says


def view(
    subjects: Sequence[Subject],
    reading: SweepReading | None,
    sheets: Sequence[Sheet],
    command: str,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    """All texts of the page."""
    first = subjects[0].main.geometry
    several = len(subjects) > 1
    names = list(dict.fromkeys(s.main.geometry.plan.network for s in subjects))
    return {
        "title": ", ".join(names),
        "names": names,
        "shape": "x".join(map(str, first.shape)),
        "size": first.structure.size,
        "version": version("sads"),
        "command": command,
        "several": several,
        "held": held(several=several),
        "validity": validity_sentences() if several else [],
        "subjects": [_subject(s) for s in subjects],
        "levels": [
            _levels(place, s.architecture, tell)
            for place, s in enumerate(subjects)
            if s.architecture.levels
        ],
        "level_command": _level_command(subjects[0].main),
        "sweep": None if reading is None else _sweep(reading, subjects),
        "sheets": list(sheets),
        "data": subjects[0].alignment.data if subjects[0].alignment else None,
    }


def _subject(subject: Subject) -> dict[str, Any]:
    geometry = subject.main.geometry
    return {
        "name": label(subject.main),
        "directory": subject.main.directory,
        "taken_as": " ".join(taken_as(geometry.plan)),
        "answer": subject.answer,
        "notes": [] if subject.alignment is None else notes(subject.alignment),
        "bands": _bands(subject),
        "hidden_bands": max(0, len(geometry.spectrum().bands) - MOST_BANDS),
        "findings": subject.diagnosis.findings if isinstance(subject.diagnosis, Diagnosis) else (),
        "skipped": subject.diagnosis.skipped if isinstance(subject.diagnosis, Diagnosis) else (),
        "undiagnosed": _undiagnosed(subject),
        "facts": _facts(geometry),
        "commands": [
            geometry_command(n.geometry, n.directory)
            for n in (subject.main, *subject.architecture.levels)
        ],
    }


def _undiagnosed(subject: Subject) -> str | None:
    if subject.diagnosis is None:
        return "Not examined. Pass --doctor to sads report."
    return subject.diagnosis if isinstance(subject.diagnosis, str) else None


def _bands(subject: Subject) -> list[dict[str, str]]:
    """The table of bands, for readers who do not see the plot."""
    spectrum = subject.main.geometry.spectrum()
    values, errors = spectrum.eigenvalues, spectrum.eigenvalue_errors
    shares = None if subject.alignment is None else [p.share for p in subject.alignment.profile]
    measured = {(m.first, m.last): m for m in subject.measured}
    rows = []
    for place, band in enumerate(spectrum.bands[:MOST_BANDS]):
        found = measured.get((band.first, band.last))
        part = slice(band.first, band.last + 1)
        rows.append(
            {
                "indices": str(band.first) if band.width == 1 else f"{band.first}–{band.last}",
                "eigenvalue": with_error(values[part].mean(), errors[part].mean()),
                "window": f"± {spectrum.windows[part].max()}",
                "index": _interval(spectrum, band),
                "certificate": _certificate(band),
                "share": "" if shares is None else f"{shares[place]:.2%}",
                "msw2": "" if found is None else with_error(found.mean, found.error),
            }
        )
    return rows


def _interval(spectrum: Spectrum, band: Band) -> str:
    """The indices that the levels of a band may have."""
    levels = [one for one in spectrum.resolution if band.first <= one.index <= band.last]
    low, high = min(one.index_low for one in levels), max(one.index_high for one in levels)
    return str(low) if low == high else f"{low}–{high}"


def _certificate(band: Band) -> str:
    if band.exact:
        return "exact"
    verdict = "certified" if band.certified else "not certified"
    return f"{verdict}, {band.overlap:.3f} ± {band.overlap_error:.3f}"


def with_error(value: float, error: float | None) -> str:
    """A number with its standard error.

    >>> with_error(12.3456, 0.123), with_error(2.0, None)
    ('12.35 ± 0.12', '2')
    """
    return f"{value:.4g}" if not error else f"{value:.4g} ± {error:.2g}"


def _facts(geometry: Geometry) -> list[tuple[str, str]]:
    """Provenance, as names and values."""
    plan, error = geometry.plan, geometry.whitened_error
    first, end = plan.timesteps
    precision = "float64" if plan.precision is None else plan.precision.features
    facts = [
        ("network", plan.network),
        ("shape", "x".join(map(str, plan.shape))),
        ("probe", plan.probe),
        ("timesteps", f"{first} to {end - 1} of {plan.steps}, schedule {plan.schedule}"),
        ("weighting", plan.weighting),
        ("estimator", plan.estimator),
        ("networks", "none: a closed form" if geometry.exact else f"{geometry.networks:,}"),
        ("whitened error", "not yet known" if error is None else f"{error:.2g}"),
        ("finished", "yes" if geometry.state.finished else "no: the run is not finished"),
        ("seed", str(plan.seed)),
        ("last layer", plan.readout.kind + (f" ({plan.note})" if plan.note else "")),
        ("features in", precision),
        ("symmetries", ", ".join(geometry.symmetries) or "none"),
        ("fingerprint", plan.fingerprint[:16]),
        ("versions", ", ".join(f"{k} {v}" for k, v in plan.versions.items())),
        ("seconds", f"{geometry.state.seconds:.1f}"),
    ]
    if plan.redrawn:
        facts.append(("redrawn, since the output is zero", ", ".join(plan.redrawn)))
    return facts


def _levels(place: int, one: Architecture, tell: Callable[[str], None]) -> dict[str, Any]:
    rows = []
    for named in (one.main, *one.levels):
        tell(f"comparing {named.directory}")
        geometry, (first, end) = named.geometry, named.timesteps
        error = geometry.whitened_error
        rows.append(
            {
                "timesteps": f"{first}–{end - 1}",
                "directory": named.directory,
                "trace": f"{geometry.trace:.4g}",
                "error": "" if error is None else f"{error:.2g}",
                "differs": "" if named is one.main else differs(one.main.geometry, geometry),
            }
        )
    return {"id": f"levels-{place}", "name": label(one.main), "rows": rows}


def _level_command(named: Named) -> str:
    steps = named.geometry.plan.steps
    command = geometry_command(named.geometry, f"{named.directory}-low-noise")
    return command.replace(" --out ", f" --timesteps 0:{steps // 4} --out ", 1)


def _sweep(reading: SweepReading, subjects: Sequence[Subject]) -> dict[str, Any]:
    return {
        "directory": reading.directory,
        "finished": reading.finished,
        "lines": reading.lines[:MOST_LINES],
        "correlations": reading.correlations,
        "unmatched": not any(s.measured for s in subjects),
    }
