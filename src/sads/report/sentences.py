"""Every sentence of the report that depends on what is known.

The answer comes first: what untrained networks prefer, how sure that is, what training is forecast
to do, what to do next. Headings and text that never changes stand in `assets/report.html.j2`.
"""

import shlex
from dataclasses import dataclass

from ..alignment import Alignment
from ..comparison import compare
from ..directions import Spectrum
from ..geometry import Geometry
from ..presentation.alignment import (
    coarse,
    outcome_sentences,
    rotating_is_worth_it,
    rotation_advice,
)
from ..presentation.forecast import eigenvalue_sentences, forecast_sentences
from ..presentation.geometry import known, subspace
from ..presentation.numbers import sizes
from .commands import geometry_command
from .frequencies import frequency_of_end, frequency_of_first
from .subjects import Subject

MOST = 0.5  # a share of the trace above which one direction decides
COARSE, FINE = 0.67, 1.2  # times the mean frequency of white noise
LARGEST = 1024  # rows of a factor that are compared fold by fold
#: What large eigenvalues mean, of the geometry of outputs and of the tangent kernel.
SAID = {
    "outputs": "puts out, before training,",
    "tangent": "is moved by the first training steps along",
}
NOTHING = {
    "outputs": "it outputs nothing before training",
    "tangent": "no small step of its parameters moves it",
}


@dataclass(frozen=True)
class Action:
    """One thing to do, and the command that does it."""

    text: str
    command: str | None = None

    @property
    def told(self) -> str:
        """The text and the command in one line."""
        return self.text if self.command is None else f"{self.text} {self.command}"


@dataclass(frozen=True)
class Answer:
    """What a reader wants to know about one network.

    Attributes:
        preferred: what it outputs most and least before training.
        sure: how well that is known.
        data: where the data lies; None without data.
        forecast: what training is forecast to do; empty without a forecast.
        actions: what to do, the most urgent first.
    """

    preferred: str
    sure: str
    data: str | None
    forecast: tuple[str, ...]
    actions: tuple[Action, ...]

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """Headings and sentences that the page shows below `preferred`; a new one is added here."""
        rows = [
            ("How sure", [self.sure]),
            ("The forecast", [*self.forecast[2:]]),
            ("Your data", [] if self.data is None else [self.data]),
        ]
        return [(heading, lines) for heading, lines in rows if lines]


def answer(subject: Subject) -> Answer:
    """The answer for one network."""
    geometry, alignment = subject.main.geometry, subject.alignment
    return Answer(
        preferred(geometry),
        sure(geometry),
        None if alignment is None else where_data_lies(alignment),
        () if subject.forecast is None else tuple(forecast_sentences(subject.forecast)),
        tuple(actions(subject)),
    )


def preferred(geometry: Geometry) -> str:
    """The directions that it outputs, or is moved along, most and least."""
    spectrum, name = geometry.spectrum(), geometry.plan.network
    null = spectrum.null_directions
    if geometry.structure.rows == 1:
        return f"{name} treats all directions alike: no data is favoured over other data."
    if len(spectrum.bands) == 1:
        return f"The networks drawn so far do not distinguish any directions of {name}."
    values = spectrum.eigenvalues
    ratio = float(values[0] / values[len(values) - null - 1])
    fall = f"{ratio:,.0f}" if ratio < 1e6 else f"{ratio:.1g}"
    text = (
        f"{_preference(spectrum, name, geometry.plan.of)}; eigenvalues fall by a factor of {fall}."
    )
    if null and spectrum.unseen:
        text += f" Too few networks were drawn to see {null:,} of {len(values):,} directions."
    elif null:
        text += f" Along {null:,} of {len(values):,} directions {NOTHING[geometry.plan.of]}."
    return text


def _preference(spectrum: Spectrum, name: str, of: str) -> str:
    """Which end of the spectrum is coarse and which is fine."""
    large, small = (frequency_of_end(spectrum, largest=one) for one in (True, False))
    if large is None or small is None:
        return f"{name} {SAID[of]} directions of large eigenvalue most"
    numbers = f"mean frequency {large:.2g} and {small:.2g} times white noise's"
    if _pattern(large) == _pattern(small):
        values = spectrum.eigenvalues
        strongest = values[: spectrum.structure.copies].sum() / values.sum()
        share, first = float(strongest), frequency_of_first(spectrum)
        if first is not None and share > MOST:
            height = f"mean frequency {first:.2g} times white noise's"
            return (
                f"{name} {SAID[of]} {_pattern(first)} above all: its first direction ({height}) "
                f"has {share:.0%} of the trace, and the others prefer no scale"
            )
        alike = f"its directions of largest and of smallest eigenvalue are {_pattern(small)}"
        return f"{name} prefers no scale: {alike} ({numbers})"
    ends = f"{_pattern(large)} most and {_pattern(small)} least"
    return f"{name} {SAID[of]} {ends} ({numbers})"


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
    within = "".join(f" {line}" for line in subspace(geometry)[:1])
    return (
        f"{known(geometry.spectrum())} These are 95 % limits from {geometry.networks:,} untrained "
        f"networks, {stated}.{within}"
    )


def where_data_lies(alignment: Alignment) -> str:
    """Where the data lies, in one sentence."""
    if alignment.position is None:
        return f"No data lies better than {alignment.data}: all directions are alike."
    side = "large" if alignment.relative > 1 else "small"
    return (
        f"{alignment.data} lies on {side} eigenvalues: its alpha is {alignment.relative:.3g} ± "
        f"{alignment.relative_error:.1g} times that of data without preference, "
        f"{alignment.position:.1%} of the way from the least over all rotations of the data to the "
        "largest."
    )


def actions(subject: Subject) -> list[Action]:
    """What to do, the most urgent first."""
    geometry, alignment, diagnosis = subject.main.geometry, subject.alignment, subject.diagnosis
    steps = []
    if not geometry.state.finished:
        steps.append(Action("Let the estimate finish: run its command again, and it continues."))
    for finding in diagnosis.findings if diagnosis else ():
        if finding.severity != "note":
            steps.append(Action(f"Mend {finding.code}: {finding.suggestion}."))
    if not geometry.exact and coarse(geometry):
        more = "Take more networks before trusting single directions: raise --networks in"
        steps.append(Action(more, geometry_command(geometry, subject.main.directory)))
    if alignment is None:
        steps.append(Action("Name your data with --data to see where it lies."))
    elif geometry.compressed:
        pass  # a rotation needs the geometry of the whole space
    elif alignment.position is not None and alignment.relative > 1:
        steps.append(_rotate(subject, alignment))
    else:
        steps.append(Action("Leave the data as it is: there is little to gain from rotating it."))
    return steps


def _rotate(subject: Subject, alignment: Alignment) -> Action:
    """What to do with data on large eigenvalues; rotating it is not always worth it."""
    plan, diagnosis = subject.main.geometry.plan, subject.diagnosis
    about = [plan.network, "--shape", sizes(plan.shape)]
    if diagnosis is None:
        return Action(
            "Ask sads doctor first: mending a network that does not see the time was worth more "
            "than rotating its data.",
            shlex.join(["sads", "doctor", *about]),
        )
    words = ["sads", "train", *about, "--data", alignment.data, "--rotation", "random"]
    command = shlex.join([*words, "--out", "rotated"])
    sees_time = all(finding.code != "time-blind" for finding in diagnosis.findings)
    text = rotation_advice(sees_time=sees_time)
    if rotating_is_worth_it(sees_time=sees_time) is False:
        return Action(text)
    return Action(text, command)


def held(*, several: bool) -> list[str]:
    """What eigenvalues say about training, as measured."""
    order = "The order between architectures is another matter: see below."
    lines = [*eigenvalue_sentences(), *outcome_sentences()]
    return [*lines, order] if several else lines


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
