"""How data lies in a geometry, and rotations that change it."""

from .align import Alignment, Share, align
from .artefact import FILE as ROTATION_FILE
from .artefact import load_rotation, save_rotation, write_rotation
from .choice import geometry_of, rotation_for
from .moments import Moment, second_moment
from .rotation import Origin, Rotation, make_rotation
from .transformer import RotationTransformer

__all__ = [
    "ROTATION_FILE",
    "Alignment",
    "Moment",
    "Origin",
    "Rotation",
    "RotationTransformer",
    "Share",
    "align",
    "geometry_of",
    "load_rotation",
    "make_rotation",
    "rotation_for",
    "save_rotation",
    "second_moment",
    "write_rotation",
]
