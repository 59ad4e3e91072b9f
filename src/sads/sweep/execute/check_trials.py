"""Whether the trials of a sweep can run at all, checked before the first one starts."""

from collections.abc import Iterable
from dataclasses import replace

from ...errors import InputError
from ...specs import DataSpec, NetworkSpec
from ..describe.plan import Planned
from ..describe.position import Place, place_of
from ..describe.protocol import Protocol
from ..describe.trial import Trial
from .trial_data import dataset, family_of

Shape = tuple[int, ...]


def check_trials(plan: Iterable[Planned]) -> list[Planned]:
    """Check that each trial can run, and return the trials with their places in a spectrum.

    Raises:
        SadsError: if a network, data, an index or a rotation does not exist or does not fit.
    """
    shapes: dict[tuple[NetworkSpec, str | None], Shape] = {}
    places: dict[tuple[DataSpec, Shape], Place | None] = {}
    rotations: set[tuple[NetworkSpec, str | None, str, str | None]] = set()
    moments: set[tuple[NetworkSpec, DataSpec, Protocol]] = set()
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
        if (measured := (trial.network, trial.data, trial.protocol)) not in moments:
            _check_moments(trial)
            moments.add(measured)
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


def _check_moments(trial: Trial) -> None:
    """Refuse moments at which there is no exact risk to measure."""
    moments = trial.protocol.moments
    if not moments:
        return
    if not trial.data.synthetic:
        raise InputError(
            f"the risk at moments needs data of a known law, {trial.data} is not: leave moments "
            "out, or use gaussian:moment=DATA, Gaussian data with its second moment"
        )
    iterations = trial.protocol.iterations or family_of(trial).training.iterations
    if moments[-1] > iterations:
        raise InputError(
            f"moments are steps of the training, from 1 to {iterations:,}, got {moments[-1]:,}"
        )


def _check_rotation(trial: Trial) -> None:
    """Refuse a rotation that is made for another network."""
    if trial.geometry is None and trial.rotation_directory is None:
        return
    from ...alignment import load_rotation
    from ...geometry import load_geometry

    family = family_of(trial)
    if trial.geometry is not None:
        plan = load_geometry(trial.geometry).plan
        source, network, fits = trial.geometry, plan.network, plan.is_of(family)
    else:
        origin = load_rotation(trial.rotation).origin
        source, network, fits = trial.rotation, origin.network, origin.suits(family)
    if not fits:
        raise InputError(f"{source} belongs to {network}, not to {trial.network}: make another")
