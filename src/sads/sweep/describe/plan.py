"""The trials of a specification with their identities, and whether they can run at all."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import InputError
from .digests import FIELDS, digest, parts
from .position import Place, place_of
from .specification import Specification
from .trial import Trial


@dataclass(frozen=True)
class Planned:
    """A trial with its identity and, once checked, its place in a spectrum."""

    id: str
    trial: Trial
    place: Place | None = None


def plan_trials(specification: Specification) -> list[Planned]:
    """All trials, in the order in which they are run. Reads the files that they name."""
    found = {trial.identity(): trial for trial in specification.trials()}
    return [Planned(identity, trial) for identity, trial in found.items()]


def versions(planned: Planned) -> Iterator[Planned]:
    """A trial as each version of the draws has it, the newest first."""
    yield planned
    for draws in range(planned.trial.draws - 1, 0, -1):
        older = planned.trial.model_copy(update={"draws": draws})
        yield Planned(older.identity(), older, planned.place)


def as_stored(plan: Iterable[Planned], known: Container[str]) -> list[Planned]:
    """The trials as a store knows them, some perhaps with results of an older version."""
    return [
        next((own for own in versions(planned) if own.id in known), planned) for planned in plan
    ]


def check_trials(plan: Iterable[Planned]) -> list[Planned]:
    """The same trials with their places, after making sure that each can run.

    Raises:
        SadsError: for a network, data, index or rotation that does not exist or does not fit.
    """
    from ...specs.sources import as_family
    from ..execute.trial_data import dataset, is_synthetic

    shapes: dict[tuple[str, str | None], tuple[int, ...]] = {}
    places: dict[tuple[str, tuple[int, ...]], Place | None] = {}
    rotations: set[tuple[str, str | None, str, str | None]] = set()
    checked = []
    for planned in plan:
        trial = planned.trial
        key = trial.network, trial.shape
        if key not in shapes:
            shapes[key] = as_family(trial.network, shape=trial.shape).shape
        data = trial.data, shapes[key]
        if data not in places:
            places[data] = place_of(*data)
            if places[data] is None:
                most = 1 if is_synthetic(trial) else None
                for split in ("train", "held-out"):
                    dataset(trial, shapes[key], split, most)
        turned = *key, trial.rotation, trial.geometry
        if turned not in rotations:
            _check_rotation(trial)
            rotations.add(turned)
        checked.append(Planned(planned.id, trial, places[data]))
    return checked


def _check_rotation(trial: Trial) -> None:
    """Refuse a rotation that is made for another network."""
    if trial.geometry is None and parts("rotation", trial.rotation) is None:
        return
    from ...alignment import geometry_of, load_rotation
    from ...specs.sources import as_family

    family = as_family(trial.network, shape=trial.shape)
    if trial.geometry is not None:
        plan = geometry_of(trial.geometry).plan
        source, network, fits = trial.geometry, plan.network, plan.is_of(family)
    else:
        origin = load_rotation(trial.rotation).origin
        source, network, fits = trial.rotation, origin.network, origin.suits(family)
    if not fits:
        raise InputError(f"{source} belongs to {network}, not to {trial.network}: make another")


def named_files(plan: Iterable[Planned]) -> dict[str, str]:
    """The digest of each path that the trials name."""
    found: dict[str, str] = {}
    for planned in plan:
        for field in FIELDS:
            text = getattr(planned.trial, field)
            cut = None if text is None else parts(field, text)
            if cut is not None and cut[1] not in found:
                found[cut[1]] = digest(Path(cut[1]))
    return found
