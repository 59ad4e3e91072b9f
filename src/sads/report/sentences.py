"""Every sentence of the report that depends on what is known.

The answer comes first: what is modelled well and badly, how sure that is, what to do. Headings and
text that never changes stand in `assets/report.html.j2`.
"""

import shlex
from dataclasses import dataclass

from ..alignment import Alignment
from ..comparison import compare
from ..directions import Spectrum
from ..geometry import Geometry
from ..presentation.alignment import coarse, measured_sentences
from ..presentation.geometry import known
from ..presentation.numbers import sizes
from .commands import geometry_command
from .frequencies import frequency_of_end
from .subjects import Subject

COARSE, FINE = 0.67, 1.2  # times the mean frequency of white noise
LARGEST = 1024  # rows of a factor that are compared fold by fold
NOT_ASKED = "Not examined. Pass --doctor to sads report."
#: What large and small eigenvalues mean, of the geometry of outputs and of the tangent kernel.
SAID = {
    "outputs": ("is predicted to model", "worst", "best"),
    "tangent": ("is moved by the first training steps along", "most", "least"),
}


@dataclass(frozen=True)
class Action:
    """One thing to do, and the command that does it."""

    text: str
    command: str | None = None


@dataclass(frozen=True)
class Answer:
    """What a reader wants to know of one network.

    Attributes:
        predicted: what it is predicted to model badly and well.
        sure: how well that prediction is known.
        data: where the data lies; None without data.
        actions: what to do, the most urgent first.
    """

    predicted: str
    sure: str
    data: str | None
    actions: tuple[Action, ...]


def answer(subject: Subject) -> Answer:
    """The answer for one network."""
    geometry, alignment = subject.main.geometry, subject.alignment
    return Answer(
        predicted(geometry),
        sure(geometry),
        None if alignment is None else where_data_lies(alignment),
        tuple(actions(subject)),
    )


def predicted(geometry: Geometry) -> str:
    """What is predicted to be modelled worst and best."""
    spectrum, name = geometry.spectrum(), geometry.plan.network
    null = spectrum.null_directions
    if geometry.structure.rows == 1:
        return f"{name} treats all directions alike: no data is favoured over other data."
    if len(spectrum.bands) == 1:
        return f"The networks drawn so far tell no direction of {name} from another."
    values = spectrum.eigenvalues
    ratio = float(values[0] / values[len(values) - null - 1])
    fall = f"{ratio:,.0f}" if ratio < 1e6 else f"{ratio:.1g}"
    text = (
        f"{_preference(spectrum, name, geometry.plan.of)}; eigenvalues fall by a factor of {fall}."
    )
    if null and spectrum.unseen:
        text += f" Too few networks were drawn to see {null:,} of {len(values):,} directions."
    elif null:
        text += f" Along {null:,} of {len(values):,} directions it outputs nothing before training."
    return text


def _preference(spectrum: Spectrum, name: str, of: str) -> str:
    """Which end of the spectrum is coarse and which is fine."""
    worst, best = (frequency_of_end(spectrum, worst=one) for one in (True, False))
    does, most, least = SAID[of]
    if worst is None or best is None:
        return f"{name} {does} directions of large eigenvalue {most}"
    numbers = f"mean frequency {worst:.2g} and {best:.2g} times white noise's"
    if _pattern(worst) == _pattern(best):
        alike = f"its worst and its best directions are {_pattern(best)}"
        return f"{name} prefers no scale: {alike} ({numbers})"
    ends = f"{_pattern(worst)} {most} and {_pattern(best)} {least}"
    return f"{name} {does} {ends} ({numbers})"


def _pattern(frequency: float) -> str:
    if frequency < COARSE:
        return "coarse patterns"
    return "fine detail" if frequency > FINE else "patterns of medium scale"


def sure(geometry: Geometry) -> str:
    """How well the directions are known."""
    if geometry.exact:
        return "These directions are exact: they follow from a closed form."
    if geometry.structure.rows == 1:
        return "That is exact: it follows from the last layer alone, whatever comes before it."
    error = geometry.whitened_error
    stated = (
        "an error that is not yet known" if error is None else f"a whitened error of {error:.2g}"
    )
    return (
        f"{known(geometry.spectrum())} These are 95 % limits from {geometry.networks:,} untrained "
        f"networks, {stated}."
    )


def where_data_lies(alignment: Alignment) -> str:
    """Where the data lies, in one sentence."""
    if alignment.position is None:
        return f"{alignment.data} lies as well as any other data: all directions are alike."
    side = "badly" if alignment.relative > 1 else "well"
    return (
        f"{alignment.data} lies where this network is predicted to model {side}: its alpha is "
        f"{alignment.relative:.3g} ± {alignment.relative_error:.1g} times that of data without "
        f"preference, {alignment.position:.1%} of the way from the best rotation of the data to "
        "the worst."
    )


def actions(subject: Subject) -> list[Action]:
    """What to do, the most urgent first."""
    geometry, alignment, diagnosis = subject.main.geometry, subject.alignment, subject.diagnosis
    steps = []
    if not geometry.state.finished:
        steps.append(Action("Let the estimate finish: run its command again, it goes on."))
    for finding in diagnosis.findings if diagnosis else ():
        if finding.severity != "note":
            steps.append(Action(f"Mend {finding.code}: {finding.suggestion}."))
    if not geometry.exact and coarse(geometry):
        more = "Take more networks before trusting single directions: raise --networks in"
        steps.append(Action(more, geometry_command(geometry, subject.main.directory)))
    if alignment is None:
        steps.append(Action("Name your data with --data to see where it lies."))
    elif alignment.position is not None and alignment.relative > 1:
        steps.append(_rotate(subject, alignment))
    else:
        steps.append(Action("Leave the data as it is: there is little to gain from rotating it."))
    return steps


def _rotate(subject: Subject, alignment: Alignment) -> Action:
    plan = subject.main.geometry.plan
    words = ["sads", "train", plan.network, "--shape", sizes(plan.shape), "--data", alignment.data]
    extreme = shlex.join(["--rotation", "min", "--geometry", subject.main.directory])
    return Action(
        "Train on rotated data and compare. Both rotations helped the U-Net that we measured, "
        f"random at least as much as min ({extreme}).",
        shlex.join([*words, "--rotation", "random", "--out", "rotated"]),
    )


def held(*, several: bool) -> list[str]:
    """How well such predictions have held where it was measured."""
    order = "The order between architectures is another matter: see below."
    return [*measured_sentences(), order] if several else measured_sentences()


def differs(main: Geometry, level: Geometry) -> str:
    """Whether the geometry of one noise level differs from the main one beyond a common factor."""
    if max(main.structure.rows, level.structure.rows) > LARGEST:
        return f"not compared: more than {LARGEST:,} directions"
    comparison = compare(main, level, ignore_scale=True)
    p_value = f"(p = {comparison.shape_p_value:.2g})"
    if not comparison.different:
        return f"no difference found {p_value}"
    size = f"{comparison.shape_distance:.2g} ± {comparison.shape_distance_error:.1g}"
    return f"differs by {size} for each direction {p_value}"
