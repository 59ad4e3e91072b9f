"""Whether the trials of a sweep can run at all, told before any of them does."""

from collections.abc import Iterable
from dataclasses import replace

from ...errors import InputError
from ...specs import DataSpec, NetworkSpec
from ..describe.plan import Planned
from ..describe.position import Place, place_of
from ..describe.trial import Trial
from .trial_data import dataset, family_of

Shape = tuple[int, ...]


def check_trials(plan: Iterable[Planned]) -> list[Planned]:
    """The same trials with their places, after making sure that each can run.

    Raises:
        SadsError: for a network, data, index or rotation that does not exist or does not fit.
    """
    shapes: dict[tuple[NetworkSpec, str | None], Shape] = {}
    places: dict[tuple[DataSpec, Shape], Place | None] = {}
    rotations: set[tuple[NetworkSpec, str | None, str, str | None]] = set()
    checked = []
    for planned in plan:
        trial = planned.trial
        network = trial.network, trial.shape
        if network not in shapes:
            shapes[network] = family_of(trial).shape
        data = trial.data, shapes[network]
        if data not in places:
            places[data] = place_of(*data)
            if places[data] is None:
                _check_data(trial, shapes[network])
        rotation = *network, trial.rotation, trial.geometry
        if rotation not in rotations:
            _check_rotation(trial)
            rotations.add(rotation)
        checked.append(replace(planned, place=places[data]))
    return checked


def _check_data(trial: Trial, shape: Shape) -> None:
    """Refuse data that cannot be read."""
    for split in ("train", "held-out"):
        dataset(trial, shape, split, 1 if trial.data.synthetic else None)


def _check_rotation(trial: Trial) -> None:
    """Refuse a rotation that is made for another network."""
    if trial.geometry is None and trial.rotation_directory is None:
        return
    from ...alignment import geometry_of, load_rotation

    family = family_of(trial)
    if trial.geometry is not None:
        plan = geometry_of(trial.geometry).plan
        source, network, fits = trial.geometry, plan.network, plan.is_of(family)
    else:
        origin = load_rotation(trial.rotation).origin
        source, network, fits = trial.rotation, origin.network, origin.suits(family)
    if not fits:
        raise InputError(f"{source} belongs to {network}, not to {trial.network}: make another")
