"""How data lies in a geometry, and rotations that change it."""

from .align import Alignment, Share, align
from .make_rotation import make_rotation
from .moments import Moment, second_moment
from .rotation import FILE as ROTATION_FILE
from .rotation import Origin, Rotation, load_rotation, write_rotation
from .scikit_learn import RotationTransformer

__all__ = [
    "ROTATION_FILE",
    "Alignment",
    "Moment",
    "Origin",
    "Rotation",
    "RotationTransformer",
    "Share",
    "align",
    "load_rotation",
    "make_rotation",
    "second_moment",
    "write_rotation",
]
