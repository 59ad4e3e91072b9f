"""The trials of a specification with their identities."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from ...specs.digests import path_digest
from .position import Place
from .specification import Specification
from .trial import Trial


@dataclass(frozen=True)
class Planned:
    """A trial with its identity and, once checked, its place in a spectrum."""

    id: str
    trial: Trial
    place: Place | None = None


def plan_trials(specification: Specification) -> list[Planned]:
    """All trials, in the order in which they run; this reads the files that they name."""
    trials = {trial.identity(): trial for trial in specification.trials()}
    return [Planned(identity, trial) for identity, trial in trials.items()]


def versions(planned: Planned) -> Iterator[Planned]:
    """The trial under each version of the random draws, the newest first."""
    yield planned
    for draws in range(planned.trial.draws - 1, 0, -1):
        older = planned.trial.model_copy(update={"draws": draws})
        yield Planned(older.identity(), older, planned.place)


def as_stored(plan: Iterable[Planned], known: Container[str]) -> list[Planned]:
    """The trials as a store knows them, some perhaps under an older version of the draws."""
    return [
        next((own for own in versions(planned) if own.id in known), planned) for planned in plan
    ]


def named_files(plan: Iterable[Planned]) -> dict[str, str]:
    """The digest of each path that the trials name."""
    paths = dict.fromkeys(path for planned in plan for path in planned.trial.paths())
    return {str(path): path_digest(path) for path in paths}
