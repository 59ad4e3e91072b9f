"""The answer in words: what is modelled well and badly, how sure that is, what to do."""

import shlex
from dataclasses import dataclass

import numpy as np

from ..alignment import Alignment
from ..alignment.summary import MEASURED, coarse
from ..directions import Spectrum
from ..doctor import Diagnosis
from ..geometry import Geometry
from ..geometry.summary import known as sentence
from .levels import Named
from .pictures import eigenvector_picture, mean_frequency
from .reproduce import geometry_command

TENTH = 0.1
COARSE, FINE = 0.67, 1.2  # times the mean frequency of white noise
#: What large and small eigenvalues mean, of the geometry of outputs and of the tangent kernel.
SAID = {
    "outputs": ("is predicted to model", "worst", "best"),
    "tangent": ("is moved by the first training steps along", "most", "least"),
}
MOST_LOOKED_AT = 64  # eigenvectors of each end whose frequency is taken


@dataclass(frozen=True)
class Action:
    """One thing to do, and the command that does it."""

    text: str
    command: str | None = None


@dataclass(frozen=True)
class Answer:
    """What a reader wants to know of one architecture.

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


def answer(named: Named, alignment: Alignment | None, found: Diagnosis | None) -> Answer:
    """The answer for one architecture."""
    return Answer(
        predicted(named.geometry),
        sure(named.geometry),
        None if alignment is None else where_data_lies(alignment),
        tuple(actions(named, alignment, found)),
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
    does, most, least = SAID[of]
    worst, best = frequency(spectrum, worst=True), frequency(spectrum, worst=False)
    if worst is None or best is None:
        return f"{name} {does} directions of large eigenvalue {most}"
    numbers = f"mean frequency {worst:.2g} and {best:.2g} times white noise's"
    coarse, fine = _pattern(worst), _pattern(best)
    if coarse == fine:
        return f"{name} prefers no scale: its worst and its best directions are {fine} ({numbers})"
    return f"{name} {does} {coarse} {most} and {fine} {least} ({numbers})"


def _pattern(relative: float) -> str:
    if relative < COARSE:
        return "coarse patterns"
    return "fine detail" if relative > FINE else "patterns of medium scale"


def frequency(spectrum: Spectrum, *, worst: bool) -> float | None:
    """Mean frequency of the worst or the best tenth, relative to white noise; None for vectors.

    Directions outside the range of the geometry are left out.
    """
    copies = spectrum.structure.copies
    alive = [r for b in spectrum.bands if not b.null for r in range(b.first, b.last + 1, copies)]
    rows = np.unique(np.array(alive) // copies)
    tenth = max(1, round(TENTH * len(rows)))
    part = rows[:tenth] if worst else rows[-tenth:]
    picked = part[np.linspace(0, len(part) - 1, min(len(part), MOST_LOOKED_AT)).astype(int)]
    pictures = [eigenvector_picture(spectrum, int(row)) for row in picked]
    if len(spectrum.structure.shape) < 2 or pictures[0].size < 4:
        return None
    white = mean_frequency(_impulse(pictures[0].shape))
    return float(np.mean([mean_frequency(picture) for picture in pictures])) / white


def _impulse(shape: tuple[int, ...]) -> np.ndarray:
    """A picture with all frequencies alike, as white noise has on average."""
    picture = np.zeros(shape)
    picture.flat[0] = 1.0
    return picture


def sure(geometry: Geometry) -> str:
    """How well the directions are known."""
    spectrum = geometry.spectrum()
    if geometry.exact:
        return "These directions are exact: they follow from a closed form."
    if geometry.structure.rows == 1:
        return "That is exact: it follows from the last layer alone, whatever comes before it."
    error = geometry.whitened_error
    known = (
        "an error that is not yet known" if error is None else f"a whitened error of {error:.2g}"
    )
    return (
        f"{sentence(spectrum)} These are 95 % limits from {geometry.networks:,} untrained "
        f"networks, {known}."
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


def held(*, several: bool) -> str:
    """How well such predictions have held where it was measured."""
    text = MEASURED.removeprefix("What to expect: ")
    text = f"{text[0].upper()}{text[1:]}"
    if several:
        text += " The order between architectures is another matter: see below."
    return text


def actions(named: Named, alignment: Alignment | None, found: Diagnosis | None) -> list[Action]:
    """What to do, the most urgent first."""
    geometry, said = named.geometry, []
    again = geometry_command(geometry, named.directory)
    if not geometry.state.finished:
        said.append(Action("Let the estimate finish: run its command again, it goes on."))
    for one in found.findings if found else ():
        if one.severity != "note":
            said.append(Action(f"Mend {one.code}: {one.suggestion}."))
    if not geometry.exact and coarse(geometry):
        more = "Take more networks before trusting single directions: raise --networks in"
        said.append(Action(more, again))
    if alignment is None:
        said.append(Action("Name your data with --data to see where it lies."))
    elif alignment.position is not None and alignment.relative > 1:
        said.append(_rotate(named, alignment))
    else:
        said.append(Action("Leave the data as it is: there is little to gain from rotating it."))
    return said


def _rotate(named: Named, alignment: Alignment) -> Action:
    plan = named.geometry.plan
    shape = "x".join(map(str, plan.shape))
    words = ["sads", "train", plan.network, "--shape", shape, "--data", alignment.data]
    extreme = shlex.join(["--rotation", "min", "--geometry", named.directory])
    return Action(
        "Train on rotated data and compare. Both rotations helped the U-Net that we measured, "
        f"random at least as much as min ({extreme}).",
        shlex.join([*words, "--rotation", "random", "--out", "rotated"]),
    )
