"""Small pictures of arrays, one pixel an entry, for pages that enlarge them."""

from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from PIL import Image

from ...storage.files import atomic_write
from ..palette import MAGNITUDE, SIGNED

STRIP = 8  # rows of pixels that a signal is drawn with


def save_picture(values: Float[np.ndarray, "..."], path: Path, *, signed: bool) -> None:
    """Write an array as PNG: around zero in two colours, or from zero up; signals are strips.

    Arrays of more than two axes are laid out side by side along their first ones.
    """
    flat = np.asarray(values, dtype=float)
    while flat.ndim > 2:
        flat = np.concatenate(list(flat), axis=-1)
    if flat.ndim == 1:
        flat = np.repeat(flat[None], STRIP, axis=0)
    largest = float(np.abs(flat).max()) or 1.0
    scaled = 0.5 + flat / (2 * largest) if signed else flat / largest
    colours = colormaps[SIGNED if signed else MAGNITUDE](scaled, bytes=True)
    image = Image.fromarray(np.ascontiguousarray(colours[..., :3]))
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, lambda place: image.save(place, format="PNG"))
