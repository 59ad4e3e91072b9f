"""How data lies in a geometry, rotations that change it, and two geometries compared."""

from .align import Alignment, Share, align
from .artefact import load_rotation, save_rotation, write_rotation
from .choice import geometry_of, rotation_for
from .compare import BandDifference, Comparison, compare
from .moments import Moment, second_moment
from .rotation import Origin, Rotation, make_rotation
from .transformer import RotationTransformer

__all__ = [
    "Alignment",
    "BandDifference",
    "Comparison",
    "Moment",
    "Origin",
    "Rotation",
    "RotationTransformer",
    "Share",
    "align",
    "compare",
    "geometry_of",
    "load_rotation",
    "make_rotation",
    "rotation_for",
    "save_rotation",
    "second_moment",
    "write_rotation",
]
