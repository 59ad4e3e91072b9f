"""A report from directories: everything is read and checked first, then written at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..alignment import align
from ..doctor import Diagnosis, diagnose
from ..errors import ArtefactError, InputError, SadsError
from ..geometry import keep_spectrum, load_geometry
from ..networks.adapters import Assumptions
from ..presentation.numbers import sizes
from ..specs.coercion import as_dataset, as_family
from ..storage.files import atomic_write, refuse_existing, write_bytes
from .card import model_card
from .commands import geometry_command, report_command
from .forecasts import with_forecasts
from .page import render
from .script_data import script_data
from .sentences import answer
from .subjects import Named, Subject, by_network
from .sweep_measurements import SweepReading, measured_along, read_sweep, training_sheet
from .trainings import followed, risk_shown
from .view import view

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Report:
    """A report that has been built and not yet written.

    Attributes:
        html: the whole file.
        sentences: the three most important sentences about the first network, after those of its
            forecast where there is one.
        assumptions: what each network is taken for, by its name.
        card: a short version in Markdown, for a model card.

    >>> import sads, tempfile
    >>> geometry = sads.estimate_geometry("cnn", shape="1x4x4", networks=24)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     geometry.save(directory)
    ...     report = sads.build_report([directory])
    >>> len(report.sentences)
    3
    """

    html: str
    sentences: tuple[str, ...]
    assumptions: Mapping[str, Assumptions | None]
    card: str


def build_report(
    directories: Sequence[str | Path],
    *,
    data: str | None = None,
    sweep: str | Path | None = None,
    trainings: Sequence[str | Path] = (),
    forecasts: Sequence[str | Path] = (),
    monitors: Sequence[str | Path] = (),
    doctor: bool = False,
    on_stage: Tell | None = None,
) -> Report:
    """One page about stored geometries.

    Args:
        directories: directories of geometries of one shape; geometries that differ only in their
            timesteps are shown as noise levels of one network.
        data: a dataset in the data grammar; the report says where it lies.
        sweep: directory of a sweep, for measured distances and samples under rotations.
        trainings: directories that `sads train` wrote; the report shows their samples and, with
            data, their risk.
        forecasts: directories of stored forecasts of these networks, at most one for each.
        monitors: directories of monitors (`sads.Monitor`) of trainings on the same shape.
        doctor: whether to examine every network, which takes a while.
        on_stage: called with the name of each stage before it starts.

    Raises:
        SadsError: if a directory holds no artefact, shapes differ, the data do not fit or a
            forecast is of another network.

    >>> import sads, tempfile
    >>> geometry = sads.estimate_geometry("cnn", shape="1x4x4", networks=24)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     geometry.save(directory)
    ...     report = sads.build_report([directory])
    >>> report.html.lower().startswith("<!doctype html>")
    True
    """
    tell = on_stage or (lambda stage: None)
    known = with_forecasts(by_network(_load(directories, tell)), forecasts)
    reading = None if sweep is None else read_sweep(Path(sweep))
    sheets = list(reading.sheets) if reading else []
    for training in trainings:
        tell(f"sampling {training}")
        sheets.append(training_sheet(Path(training)))
    seen = followed(monitors, known[0].main.geometry.shape)
    risks = []
    for training in trainings if data is not None else ():
        tell(f"measuring the risk of {training}")
        risks.append(risk_shown(training, data or ""))
    subjects = [_looked_at(subject, data, reading, doctor=doctor, tell=tell) for subject in known]
    tell("writing")
    answers = [answer(subject) for subject in subjects]
    again = report_command(directories, data, sweep, trainings, forecasts, monitors, doctor=doctor)
    shown = view(subjects, answers, reading, sheets, again, tell)
    html = render(shown | {"followed": seen, "risks": risks}, script_data(subjects))
    plans = [subject.main.geometry.plan for subject in subjects]
    taken = {plan.network: plan.assumptions for plan in plans}
    first = answers[0]
    last = first.data or first.actions[0].told
    commands = [geometry_command(one.main.geometry, one.main.directory) for one in subjects]
    return Report(
        html,
        (*first.forecast[:1], first.preferred, first.sure, last),
        taken,
        model_card(subjects, answers, "\n".join([*commands, again])),
    )


def write_report(report: Report, path: str | Path, *, force: bool = False) -> None:
    """Write the file, whole or not at all; an existing one only if forced.

    >>> import sads, tempfile
    >>> from pathlib import Path
    >>> geometry = sads.estimate_geometry("cnn", shape="1x4x4", networks=24)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     geometry.save(directory)
    ...     sads.write_report(sads.build_report([directory]), f"{directory}/report.html")
    ...     (Path(directory) / "report.html").is_file()
    True
    """
    check_output(path, force=force)
    atomic_write(Path(path), write_bytes(report.html.encode()))


def write_card(report: Report, path: str | Path, *, force: bool = False) -> None:
    """Write the snippet for a model card; an existing file only if forced."""
    check_output(path, force=force)
    atomic_write(Path(path), write_bytes(report.card.encode()))


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
    geometries: list[Named] = []
    for directory in dict.fromkeys(map(str, directories)):
        tell(f"reading {directory}")
        geometry = load_geometry(directory)
        if geometry.state.counts.min() == 0:
            raise ArtefactError(
                f"{directory} has only {geometry.networks} networks so far, too few for a "
                "geometry: let its run go on"
            )
        keep_spectrum(geometry, directory)
        geometries.append(Named(directory, geometry))
        first = geometries[0]
        if geometry.shape != first.geometry.shape:
            raise InputError(
                f"{first.directory} is of shape {sizes(first.geometry.shape)}, {directory} of "
                f"{sizes(geometry.shape)}: a report is about geometries of one shape; make two"
            )
        geometry.spectrum()
    return geometries


def _looked_at(
    subject: Subject, data: str | None, reading: SweepReading | None, *, doctor: bool, tell: Tell
) -> Subject:
    """A subject with everything that the report says about it."""
    geometry = subject.main.geometry
    alignment = None
    if data is not None:
        tell(f"aligning {data} with {geometry.plan.network}")
        alignment = align(geometry, as_dataset(data, shape=geometry.shape, split="train"))
    measured = () if reading is None else measured_along(reading, subject.main)
    subject = replace(subject, alignment=alignment, measured=measured)
    if not doctor:
        return subject
    try:
        return replace(subject, diagnosis=_diagnosis(subject.main, tell))
    except SadsError as error:
        return replace(subject, unexamined=f"Not examined: {error}.")


def _diagnosis(named: Named, tell: Tell) -> Diagnosis:
    """What the doctor says of a network, if it is still the network of the geometry."""
    plan = named.geometry.plan
    family = as_family(plan.network, shape=plan.shape, schedule=plan.path)
    if not plan.is_of(family):
        raise ArtefactError(f"{plan.network} is no longer the network of this geometry")
    return diagnose(family, on_stage=lambda stage: tell(f"examining {plan.network}: {stage}"))
