"""What a report is about: networks, their geometries, and what else is known about each.

A geometry says over which range of timesteps it is a mean. Geometries that differ in nothing else
are noise levels of one network, and the one with the widest range is its main one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..alignment import Alignment
from ..doctor import Diagnosis
from ..geometry import Geometry
from ..learning import Forecast


@dataclass(frozen=True)
class Named:
    """A geometry and the directory that it came from."""

    directory: str
    geometry: Geometry

    @property
    def timesteps(self) -> tuple[int, int]:
        return self.geometry.plan.timesteps

    @property
    def label(self) -> str:
        """Its name in plots: the network, with a probe and timesteps that are not the default."""
        plan, (first, end) = self.geometry.plan, self.timesteps
        probe = "" if plan.probe == "zero" else f", probe {plan.probe}"
        level = "" if (first, end) == (0, plan.steps) else f", timesteps {first} to {end - 1}"
        return f"{plan.network}{probe}{level}"


@dataclass(frozen=True)
class Measured:
    """MSW2 along a band over seeds; without an error for one seed."""

    first: int
    last: int
    mean: float
    error: float | None
    seeds: int


@dataclass(frozen=True)
class Along:
    """The forecast drift along a band."""

    first: int
    last: int
    mean: float
    error: float


@dataclass(frozen=True)
class Subject:
    """One network at one probe.

    Attributes:
        main: its geometry over the widest range of timesteps.
        levels: the geometries over other ranges, the least noisy first.
        alignment: how the data lies in the main one; None without data.
        measured: MSW2 along its bands, from a sweep.
        diagnosis: what the doctor says; None where it was not examined.
        unexamined: why it was not examined.
        forecast: what training is forecast to do; None without a stored forecast.
        forecast_directory: where the forecast is stored.
    """

    main: Named
    levels: tuple[Named, ...] = ()
    alignment: Alignment | None = None
    measured: tuple[Measured, ...] = ()
    diagnosis: Diagnosis | None = None
    unexamined: str = ""
    forecast: Forecast | None = None
    forecast_directory: str = ""


def by_network(geometries: Sequence[Named]) -> list[Subject]:
    """Group geometries that differ only in timesteps; keep the order of the others."""
    groups: dict[tuple, list[Named]] = {}
    for named in geometries:
        plan = named.geometry.plan
        key = (plan.network, plan.fingerprint, plan.probe, plan.weighting, plan.zero_output)
        groups.setdefault(key, []).append(named)
    subjects = []
    for members in groups.values():
        widest = max(n.timesteps[1] - n.timesteps[0] for n in members)
        mains = [n for n in members if n.timesteps[1] - n.timesteps[0] == widest]
        others = sorted((n for n in members if n not in mains), key=lambda n: n.timesteps)
        subjects += [Subject(mains[0], tuple(others)), *map(Subject, mains[1:])]
    order = {id(named): place for place, named in enumerate(geometries)}
    return sorted(subjects, key=lambda subject: order[id(subject.main)])
