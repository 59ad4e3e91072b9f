"""Geometries of one network at several noise levels.

A geometry knows the range of timesteps that it is a mean over. Geometries that differ in nothing
else are levels of one network; the one with the widest range stands for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..comparison import compare
from ..geometry import Geometry

LARGEST = 1024  # rows of a factor that are compared fold by fold


@dataclass(frozen=True)
class Named:
    """A geometry and the directory that it came from."""

    directory: str
    geometry: Geometry

    @property
    def timesteps(self) -> tuple[int, int]:
        return self.geometry.plan.timesteps


@dataclass(frozen=True)
class Architecture:
    """One network at one probe.

    Attributes:
        main: over the widest range of timesteps.
        levels: the others, the least noisy first.
    """

    main: Named
    levels: tuple[Named, ...] = ()


def by_network(found: Sequence[Named]) -> list[Architecture]:
    """Geometries that differ in timesteps alone, together; in the order they are given."""
    groups: dict[tuple, list[Named]] = {}
    for one in found:
        plan = one.geometry.plan
        key = (plan.network, plan.fingerprint, plan.probe, plan.weighting, plan.zero_output)
        groups.setdefault(key, []).append(one)
    architectures = []
    for members in groups.values():
        widest = max(n.timesteps[1] - n.timesteps[0] for n in members)
        mains = [n for n in members if n.timesteps[1] - n.timesteps[0] == widest]
        others = sorted((n for n in members if n not in mains), key=lambda n: n.timesteps)
        architectures += [
            Architecture(main, tuple(others) if i == 0 else ()) for i, main in enumerate(mains)
        ]
    order = {id(one): place for place, one in enumerate(found)}
    return sorted(architectures, key=lambda a: order[id(a.main)])


def differs(main: Geometry, level: Geometry) -> str:
    """Whether a level's geometry is the whole's, but for a common factor, in a few words."""
    if max(main.structure.rows, level.structure.rows) > LARGEST:
        return f"not compared: more than {LARGEST:,} directions"
    found = compare(main, level, ignore_scale=True)
    size = f"{found.shape_distance:.2g} ± {found.shape_distance_error:.1g}"
    if not found.different:
        return f"no difference found (p = {found.shape_p_value:.2g})"
    return f"differs by {size} for each direction (p = {found.shape_p_value:.2g})"
