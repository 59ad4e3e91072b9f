"""Which architecture suits a dataset, how sure that is, and what it cost to find out.

A zero-cost score of untrained networks (`zero_cost`) is used if one has passed its validation,
otherwise a pilot of short trainings (`pilot`). `validity` says how often either was right.
"""

import itertools
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from ..data import Dataset
from ..errors import InputError
from ..foundation.choices import Optimiser
from ..foundation.data_frames import as_frame
from ..learning import Recipe, reference_for
from ..networks import ScoreFamily
from ..networks.adapters import Assumptions
from ..randomness import checked_seed
from ..statistics.means import mean_and_error
from .halving import probability_before
from .pilot import Piloted, run_pilot
from .pilot_protocol import PilotProtocol
from .validity import passed
from .zero_cost import zero_cost_scores

if TYPE_CHECKING:
    import pandas

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Entry:
    """One architecture in a ranking.

    Attributes:
        network: its name.
        value: the value that decides its place: an error of the pilot, where lower is better, or
            a zero-cost score, where higher is better.
        value_error: its standard error over seeds; None where it has none.
        constant: the error along the constant images after its last step of the pilot.
        total: the total error after that step.
        steps: the steps of each of its trainings.
        before_next: probability that it is better than the next; None for the last.
        assumptions: what its networks are taken for.
    """

    network: str
    value: float
    value_error: float | None
    constant: float | None
    total: float | None
    steps: int
    before_next: float | None
    assumptions: Assumptions


@dataclass(frozen=True)
class Ranking:
    """Architectures in order, the one expected to do best first.

    Attributes:
        data: the name of the dataset.
        count: the number of its training samples.
        shape: the shape of one sample.
        method: `pilot`, or the zero-cost score.
        by: the error that orders a pilot: along the `constant` images or in `total`.
        level: probability at which neighbours count as told apart.
        seeds: trainings of each candidate.
        steps: the training steps of all candidates together.
        share: their samples, as a share of what the usual trainings of all candidates would see.
        seconds: the time spent in training and measuring.
        entries: the architectures.

    >>> import sads
    >>> short = sads.PilotProtocol(steps=4, seeds=2, points=5)
    >>> ranking = sads.rank(["mlp,width=8", "cnn,width=8"], "digits", shape="1x8x8", pilot=short)
    >>> ranking.entries[0].value <= ranking.entries[1].value
    True
    """

    data: str
    count: int
    shape: tuple[int, ...]
    method: str
    by: str
    level: float
    seeds: int
    steps: int
    share: float
    seconds: float
    entries: tuple[Entry, ...]

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each architecture; needs pandas."""
        return as_frame(
            {f.name: getattr(entry, f.name) for f in fields(entry) if f.name != "assumptions"}
            for entry in self.entries
        )

    @property
    def ties(self) -> tuple[tuple[str, ...], ...]:
        """Runs of neighbours that are not told apart."""
        groups: list[list[str]] = [[]]
        for entry in self.entries:
            groups[-1].append(entry.network)
            if entry.before_next is not None and entry.before_next >= self.level:
                groups.append([])
        return tuple(tuple(group) for group in groups if len(group) > 1)


def rank_families(
    families: Sequence[ScoreFamily],
    training: Dataset,
    held_out: Dataset,
    *,
    pilot: PilotProtocol | None = None,
    recipe: Recipe | None = None,
    out: Path | None = None,
    on_progress: Report | None = None,
) -> Ranking:
    """Order architectures for a dataset.

    Args:
        families: the architectures, of different names and the shape of the data.
        training: the data to train on.
        held_out: the data to measure on.
        pilot: how the short trainings are made; without it a score is used, if one has passed.
        recipe: how their steps are taken; plain Adam by default. A recipe asks for a pilot.
        out: directory of the pilot; one that was stopped continues from there.
        on_progress: called with the current architecture, the steps of the work that are done, and
            the most there can be.

    Raises:
        InputError: for fewer than two architectures, equal names or different shapes, and for
            data of another shape; before anything is trained.
    """
    check_families(families)
    for data in (training, held_out):
        if data.shape != families[0].shape:
            expected, got = ("x".join(map(str, s)) for s in (families[0].shape, data.shape))
            raise InputError(f"the networks take samples of {expected}, {data.name} has {got}")
    score = passed()
    if pilot is None and recipe is None and score is not None:
        return _by_score(score, families, training, on_progress)
    chosen = pilot or PilotProtocol()
    checked_seed(chosen.seed)
    if recipe is not None:
        recipe.check_steps(families[0].schedule)
    reference = reference_for(held_out)
    with tempfile.TemporaryDirectory() as nowhere:
        piloted = run_pilot(
            families,
            training.samples,
            reference,
            chosen,
            out or Path(nowhere),
            on_progress,
            recipe=recipe,
        )
    return _by_pilot(piloted, families, training, chosen)


def recipe_of(
    pilot: PilotProtocol | None,
    *,
    optimiser: Optimiser,
    weight_decay: float,
    warm_up: int,
    timestep_law: Float[np.ndarray, " T"] | None,
    loss_weights: Float[np.ndarray, " T"] | None,
) -> Recipe | None:
    """How the steps of a pilot are taken; None for the default of pilots."""
    chosen = pilot or PilotProtocol()
    recipe = Recipe(
        optimiser=optimiser,
        learning_rate=chosen.learning_rate,
        batch_size=chosen.batch_size,
        weight_decay=weight_decay,
        warm_up=warm_up,
        timestep_law=timestep_law,
        loss_weights=loss_weights,
    )
    plain = Recipe(learning_rate=chosen.learning_rate, batch_size=chosen.batch_size)
    return None if recipe.summary() == plain.summary() else recipe


def check_families(families: Sequence[ScoreFamily]) -> None:
    """Raise unless there are at least two, of different names, one shape and one schedule."""
    if len(families) < 2:
        raise InputError(f"a ranking takes at least two networks, got {len(families)}")
    first, names = families[0], set[str]()
    for family in families:
        if family.name in names:
            raise InputError(
                f"two networks are called {family.name}: leave one out, or give the families "
                "different names"
            )
        names.add(family.name)
        if family.shape != first.shape:
            a, b = ("x".join(map(str, f.shape)) for f in (first, family))
            raise InputError(
                f"{first.name} takes samples of {a}, {family.name} of {b}: choose one shape for all"
            )
        if family.schedule != first.schedule:
            raise InputError(
                f"{first.name} is meant for {first.schedule}, {family.name} for {family.schedule}: "
                "errors at different noise are not comparable, give one schedule for all"
            )


def _by_pilot(
    piloted: Piloted, families: Sequence[ScoreFamily], data: Dataset, pilot: PilotProtocol
) -> Ranking:
    known = {family.name: family for family in families}
    entries = []
    for name, following in itertools.zip_longest(piloted.order, piloted.order[1:]):
        own = piloted.last_common(name)[name]
        value, error = mean_and_error(list(getattr(own, pilot.by).values()))
        before = None
        if following is not None:
            both = piloted.last_common(name, following)
            before = probability_before(
                getattr(both[name], pilot.by), getattr(both[following], pilot.by)
            )
        constant, total = (
            mean_and_error(list(values.values()))[0] for values in (own.constant, own.total)
        )
        assumptions = known[name].assumptions(known[name].member(pilot.seed))
        entries.append(Entry(name, value, error, constant, total, own.steps, before, assumptions))
    usual = sum(f.training.iterations * f.training.batch_size for f in families)
    steps = sum(entry.steps for entry in entries)
    return Ranking(
        data=data.name,
        count=len(data),
        shape=data.shape,
        method="pilot",
        by=pilot.by,
        level=pilot.level,
        seeds=pilot.seeds,
        steps=pilot.seeds * steps,
        share=steps * pilot.batch_size / usual,
        seconds=piloted.seconds,
        entries=tuple(entries),
    )


def _by_score(
    score: str, families: Sequence[ScoreFamily], data: Dataset, on_progress: Report | None
) -> Ranking:
    """The order by a zero-cost score, largest first; networks without one come last."""
    rows: list[tuple[float, float, ScoreFamily]] = []
    for number, family in enumerate(families):
        if on_progress is not None:
            on_progress(family.name, number, len(families))
        scores = zero_cost_scores(family, data.samples)
        value = getattr(scores, score)
        error = getattr(scores, f"{score}_error", None)
        rows.append((-math.inf if value is None else float(value), error or 0.0, family))
    rows.sort(key=lambda row: (-row[0], row[2].name))
    entries = []
    for (value, error, family), following in itertools.zip_longest(rows, rows[1:]):
        before = None
        if following is not None:
            spread = math.hypot(error, following[1])
            gap = value - following[0]
            before = float(ndtr(gap / spread)) if spread > 0 else (1.0 if gap > 0 else 0.5)
        assumptions = family.assumptions(family.member(0))
        entries.append(Entry(family.name, value, error, None, None, 0, before, assumptions))
    return Ranking(
        data=data.name,
        count=len(data),
        shape=data.shape,
        method=score,
        by=score,
        level=PilotProtocol().level,
        seeds=0,
        steps=0,
        share=0.0,
        seconds=0.0,
        entries=tuple(entries),
    )
