"""How data lies in a geometry, rotations that change it, and architectures ranked by it."""

from .align import Alignment, Share, align
from .artefact import load_rotation, save_rotation, write_rotation
from .choice import geometry_of, rotation_for
from .moments import Moment, second_moment
from .ranking import Entry, Ranking, check_families, rank_families
from .rotation import Origin, Rotation, make_rotation
from .transformer import RotationTransformer

__all__ = [
    "Alignment",
    "Entry",
    "Moment",
    "Origin",
    "Ranking",
    "Rotation",
    "RotationTransformer",
    "Share",
    "align",
    "check_families",
    "geometry_of",
    "load_rotation",
    "make_rotation",
    "rank_families",
    "rotation_for",
    "save_rotation",
    "second_moment",
    "write_rotation",
]
