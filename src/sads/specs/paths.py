"""Strings to paths from data to noise, and what the options of a network say about them.

| option        | meaning                                                                         |
|---------------|---------------------------------------------------------------------------------|
| `prediction=` | `eps`, `v`, `x0`, `flow` or `score`, see `sads.path.predictions`                |
| `path=`       | `vp`, `cosine`, `flow`, `ve` or `edm`; flow for `prediction=flow`, else vp      |
| `levels=N`    | noise levels of the path, 1000 unless given                                     |
| `shift=S`     | the resolution shift of a flow                                                  |
| `time=`       | `index`, `unit`, `thousand`, `sigma` or `log-sigma`, see `sads.path.times`      |
| `reverse`     | time runs from noise to data, and a velocity is x_0 - eps                       |
| `class=K`     | the class that is passed as the label, instead of the null condition            |
| `guidance=S`  | null prediction + S (prediction of the condition - null prediction)             |
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import InputError, expected_one_of
from ..path import PREDICTIONS, TIMES, DiffusionPath, path_of
from .grammar import convert

OPTIONS = ("prediction", "path", "levels", "shift", "time", "reverse", "class", "guidance")
#: The names of paths in the grammar, and their names in artefacts.
NAMES: Mapping[str, str] = {
    "vp": "linear",
    **{kind: kind for kind in ("linear", "cosine", "flow", "ve", "edm")},
}
LEVELS = 1000
MOST_LEVELS = 100_000


def path_named(name: str, *, levels: int = LEVELS, shift: float | None = None) -> DiffusionPath:
    """The path of a name.

    Args:
        name: `vp` or `linear`, `cosine`, `flow`, `ve` or `edm`.
        levels: how many noise levels it has.
        shift: the resolution shift of a flow.

    Raises:
        InputError: for an unknown name, or a shift of something else than a flow.

    >>> path_named("flow", shift=3.0)
    RectifiedFlow(steps=1000, shift=3.0)
    """
    if name not in NAMES:
        raise InputError(f"unknown path {name!r}{expected_one_of(name, NAMES)}")
    if shift is not None and name != "flow":
        raise InputError(f"only the path flow has a shift, got one for {name}: leave it out")
    return path_of(NAMES[name], levels, {} if shift is None else {"shift": shift})


@dataclass(frozen=True)
class Stated:
    """What the options of a network say about path, prediction and time.

    Attributes:
        prediction: what it predicts; None if the options do not say it.
        path: the path from data to noise; None likewise.
        time: the form in which it is given time; None likewise.
        reverse: whether time runs from noise to data.
        label: the class that is passed; None likewise.
        guidance: the scale of guidance; None likewise.
    """

    prediction: str | None = None
    path: DiffusionPath | None = None
    time: str | None = None
    reverse: bool = False
    label: int | None = None
    guidance: float | None = None


def stated_by(fields: Mapping[str, str]) -> Stated:
    """What the options of a network say.

    Raises:
        InputError: for unknown values.

    >>> stated_by({"prediction": "flow", "levels": "100"}).path
    RectifiedFlow(steps=100, shift=1.0)
    """
    prediction, time = fields.get("prediction"), fields.get("time")
    for what, value, known in (("prediction", prediction, PREDICTIONS), ("time", time, TIMES)):
        if value is not None and value not in known:
            raise InputError(f"unknown {what} {value!r}{expected_one_of(value, known)}")
    path = None
    if not fields.keys().isdisjoint(("path", "levels", "shift")):
        usual = "flow" if prediction == "flow" or "shift" in fields else "vp"
        levels = convert("levels", fields.get("levels", str(LEVELS)), int)
        if levels > MOST_LEVELS:
            raise InputError(f"a path has at most {MOST_LEVELS:,} levels, got {levels:,}")
        shift = convert("shift", fields["shift"], float) if "shift" in fields else None
        path = path_named(fields.get("path", usual), levels=levels, shift=shift)
    reverse = convert("reverse", fields.get("reverse", "false"), bool)
    label = convert("class", fields["class"], int) if "class" in fields else None
    guidance = convert("guidance", fields["guidance"], float) if "guidance" in fields else None
    return Stated(prediction, path, time, reverse, label, guidance)
