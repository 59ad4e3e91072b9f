"""A report from directories: everything is read and checked first, then written at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..api import align, diagnose, network
from ..doctor import Diagnosis
from ..errors import ArtefactError, InputError, SadsError
from ..geometry import keep_spectrum, load_geometry
from ..networks.adapters import Assumptions
from ..storage.files import atomic_write, refuse_existing, write_bytes
from .answer import Answer, answer
from .levels import Architecture, Named, by_network
from .measured import SweepReading, measured_along, read_sweep, training_sheet
from .page import render
from .pictures import budget
from .reproduce import report_command
from .script_data import explorer, overlays
from .subject import Subject
from .view import view

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Report:
    """A report that is not written yet.

    Attributes:
        html: the whole file.
        sentences: the three that matter, about the first architecture.
        assumptions: what each network is taken for, by its name.
    """

    html: str
    sentences: tuple[str, str, str]
    assumptions: Mapping[str, Assumptions | None]


def build_report(
    directories: Sequence[str | Path],
    *,
    data: str | None = None,
    sweep: str | Path | None = None,
    trainings: Sequence[str | Path] = (),
    doctor: bool = False,
    command: str | None = None,
    on_stage: Tell | None = None,
) -> Report:
    """One page about stored geometries.

    Args:
        directories: of geometries of one shape; those that differ in timesteps alone are shown as
            noise levels of one network.
        data: in the data grammar, to see where it lies.
        sweep: directory of a sweep, for measured distances and samples under rotations.
        trainings: directories that `sads train` wrote, to show samples of.
        doctor: examine every network; takes a while.
        command: how this report can be made again; by default as on the command line.
        on_stage: called with what is done next.

    Raises:
        SadsError: if a directory holds no artefact, shapes differ or the data do not fit.
    """
    tell = on_stage or (lambda stage: None)
    found = _load(directories, tell)
    reading = None if sweep is None else read_sweep(Path(sweep))
    sheets = list(reading.sheets) if reading else []
    for one in trainings:
        tell(f"sampling {one}")
        sheets.append(training_sheet(Path(one)))
    subjects = [_subject(one, data, reading, doctor=doctor, tell=tell) for one in by_network(found)]
    tell("writing")
    shown = command or _command(directories, data, sweep, trainings, doctor=doctor)
    html = render(view(subjects, reading, sheets, shown, tell), _content(subjects))
    plans = [subject.main.geometry.plan for subject in subjects]
    taken = {plan.network: plan.assumptions for plan in plans}
    return Report(html, _sentences(subjects[0].answer), taken)


def write_report(report: Report, path: str | Path, *, force: bool = False) -> None:
    """Write the file, whole or not at all; an existing one only if forced."""
    check_output(path, force=force)
    atomic_write(Path(path), write_bytes(report.html.encode()))


def check_output(path: str | Path, *, force: bool) -> None:
    """Refuse an existing file, or a place that cannot be written, before any work."""
    if Path(path).is_dir():
        raise InputError(f"{path} is a directory: name a file, for example {path}/report.html")
    if not Path(path).parent.is_dir():
        raise InputError(f"cannot write {path}: there is no directory {Path(path).parent}")
    refuse_existing(Path(path), force=force)


def _load(directories: Sequence[str | Path], tell: Tell) -> list[Named]:
    if not directories:
        raise InputError("a report needs at least one directory with a geometry")
    found: list[Named] = []
    for directory in dict.fromkeys(map(str, directories)):
        tell(f"reading {directory}")
        geometry = load_geometry(directory)
        if geometry.state.counts.min() == 0:
            raise ArtefactError(
                f"{directory} has only {geometry.networks} networks so far, too few for a "
                "geometry: let its run go on"
            )
        keep_spectrum(geometry, directory)
        found.append(Named(directory, geometry))
        first = found[0]
        if geometry.shape != first.geometry.shape:
            a, b = ("x".join(map(str, g.shape)) for g in (first.geometry, geometry))
            raise InputError(
                f"{first.directory} is of shape {a}, {directory} of {b}: a report is about "
                "geometries of one shape; make two"
            )
        geometry.spectrum()
    return found


def _subject(
    one: Architecture, data: str | None, reading: SweepReading | None, *, doctor: bool, tell: Tell
) -> Subject:
    named = one.main
    alignment = None
    if data is not None:
        tell(f"aligning {data} with {named.geometry.plan.network}")
        alignment = align(named.geometry, data)
    measured = () if reading is None else measured_along(reading, named)
    diagnosis = _diagnosis(named, tell) if doctor else None
    examined = diagnosis if isinstance(diagnosis, Diagnosis) else None
    return Subject(one, alignment, measured, diagnosis, answer(named, alignment, examined))


def _diagnosis(named: Named, tell: Tell) -> Diagnosis | str:
    """What the doctor finds, or why there is nothing."""
    plan = named.geometry.plan
    try:
        family = network(plan.network, shape=plan.shape)
        if family.fingerprint(family.member(0)) != plan.fingerprint:
            return f"Not examined: {plan.network} is not the network of this geometry any more."
        return diagnose(family, on_stage=lambda stage: tell(f"examining {plan.network}: {stage}"))
    except SadsError as error:
        return f"Not examined: {error}."


def _content(subjects: Sequence[Subject]) -> dict[str, Any]:
    pixels = subjects[0].main.geometry.structure.rows
    most = budget(max(pixels, 1), len(subjects))
    return {
        "explorers": [explorer(s.main, s.alignment, s.measured, most) for s in subjects],
        "overlays": overlays([s.architecture for s in subjects]),
    }


def _sentences(first: Answer) -> tuple[str, str, str]:
    last = first.data or first.actions[0].text
    return first.predicted, first.sure, last


def _command(
    directories: Sequence[str | Path],
    data: str | None,
    sweep: str | Path | None,
    trainings: Sequence[str | Path],
    *,
    doctor: bool,
) -> str:
    words = [str(d) for d in directories]
    words += ["--data", data] if data else []
    words += ["--sweep", str(sweep)] if sweep else []
    for one in trainings:
        words += ["--training", str(one)]
    words += ["--doctor"] if doctor else []
    return report_command([*words, "--out", "report.html"])
