"""Small pictures of arrays, one pixel an entry, for pages that enlarge them."""

from pathlib import Path

import numpy as np
from jaxtyping import Float
from PIL import Image

from ..storage.files import atomic_write
from .palette import BLUE, ORANGE

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
    scaled = flat / largest
    colours = _around_zero(scaled) if signed else np.repeat(scaled[..., None], 3, axis=-1)
    image = Image.fromarray((255 * colours).round().astype(np.uint8))
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, lambda place: image.save(place, format="PNG"))


def _around_zero(scaled: Float[np.ndarray, "h w"]) -> Float[np.ndarray, "h w 3"]:
    """White at zero, blue at -1, orange at 1."""
    ends = [np.array(list(bytes.fromhex(colour[1:]))) / 255 for colour in (BLUE, ORANGE)]
    share = np.abs(scaled)[..., None]
    return 1 - share * (1 - np.where(scaled[..., None] < 0, *ends))
