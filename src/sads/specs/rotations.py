"""The rotation that a training asks for, made or loaded, and checked against its network."""

from pathlib import Path

from ..alignment import Rotation, load_rotation, make_rotation
from ..data import Dataset
from ..errors import InputError
from ..geometry import Geometry
from ..networks import ScoreFamily
from .coercion import as_geometry


def rotation_for(
    family: ScoreFamily,
    data: Dataset,
    source: str | Path | Rotation | None,
    *,
    geometry: str | Path | Geometry | None = None,
    rank: int | None = None,
    seed: int = 0,
) -> Rotation | None:
    """The rotation for a network and its data; None for the identity.

    Args:
        family: the network.
        data: the data that it learns, before the rotation.
        source: `identity`, `random`, `min`, `max`, `whiten`, a directory with a rotation, or a
            rotation.
        geometry: the geometry of the network, which `min` and `max` need.
        rank: how many leading data directions move.
        seed: the seed of a random rotation.
    """
    known = None if geometry is None else as_geometry(geometry)
    if known is not None:
        _check_geometry(known, family)
    if source is None or source == "identity":
        if known is not None or rank is not None:
            raise InputError("a geometry and a rank belong to a rotation: choose min or max")
        return None
    if isinstance(source, str) and source in ("min", "max", "random", "whiten"):
        return make_rotation(
            source, shape=family.shape, geometry=known, data=data, rank=rank, seed=seed
        )
    if rank is not None:
        raise InputError("a stored rotation has its rank already: leave the rank out")
    rotation = source if isinstance(source, Rotation) else load_rotation(source)
    _check_rotation(rotation, family, known)
    return rotation


def _check_geometry(geometry: Geometry, family: ScoreFamily) -> None:
    if not geometry.plan.is_of(family):
        theirs, ours = ("x".join(map(str, shape)) for shape in (geometry.shape, family.shape))
        raise InputError(
            f"the geometry is that of {geometry.plan.network} on {theirs}, the network is "
            f"{family.name} on {ours}: make a geometry of this network"
        )


def _check_rotation(rotation: Rotation, family: ScoreFamily, geometry: Geometry | None) -> None:
    """Refuse a rotation of another shape, network or geometry."""
    origin = rotation.origin
    if origin.shape != family.shape:
        raise InputError(
            f"the rotation is for samples of shape {origin.shape}, {family.name} takes "
            f"{family.shape}: make a rotation for this network"
        )
    if not origin.suits(family):
        raise InputError(
            f"the rotation was made for the geometry of {origin.network}, not of {family.name}: "
            "make a rotation for this network"
        )
    if geometry is not None and not rotation.made_for(geometry):
        raise InputError(
            f"the rotation was made for another geometry of {origin.network}: leave the geometry "
            "out, or make the rotation again with it"
        )
