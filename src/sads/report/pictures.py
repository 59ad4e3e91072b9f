"""Eigenvectors and samples as 8-bit pictures.

An eigenvector v becomes the bytes 128 + 127 v / max|v|. Of G = A ⊗ I only the eigenvectors of the
factor are stored: its m copies are the same picture in another channel or pixel of a patch.
"""

import base64
import io

import numpy as np
from jaxtyping import Float, Int
from PIL import Image

from ..directions import Spectrum
from ..presentation.mosaics import mosaic, pictured

MOST = 1024  # eigenvectors in one report, where they are large
LARGEST, SIDE = 128, 64  # pixels a side: larger pictures are averaged over blocks
PIXELS = 4 * 2**20  # small eigenvectors: as many as make this many pixels


def budget(pixels: int, geometries: int) -> int:
    """How many eigenvectors of each geometry a report holds.

    >>> budget(256, 2), budget(10_000, 2)
    (8192, 512)
    """
    return max(MOST, PIXELS // pixels) // geometries


def chosen_rows(rows: int, most: int) -> Int[np.ndarray, " k"]:
    """The indices of the stored eigenvectors: all, or both ends of the spectrum and some between.

    >>> chosen_rows(8, 6)
    array([0, 1, 3, 4, 6, 7])
    """
    if rows <= most:
        return np.arange(rows)
    ends = most * 3 // 8
    between = np.linspace(ends - 1, rows - ends, most - 2 * ends + 2).round().astype(int)[1:-1]
    return np.unique(np.concatenate([np.arange(ends), between, np.arange(rows - ends, rows)]))


def eigenvector_picture(spectrum: Spectrum, row: int) -> Float[np.ndarray, "..."]:
    """The picture of an eigenvector of the factor: (H, W), or (L,) for signals."""
    return pictured(spectrum.vector(row * spectrum.structure.copies), spectrum.structure)


def reduced(picture: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """A picture, or means over blocks of a large one.

    >>> reduced(np.ones((256, 100))).shape
    (64, 100)
    """
    for axis, side in enumerate(picture.shape):
        if side <= LARGEST:
            continue
        edges = np.arange(0, side, -(-side // SIDE))
        sums = np.add.reduceat(np.moveaxis(picture, axis, -1), edges, axis=-1)
        picture = np.moveaxis(sums / np.diff([*edges, side]), -1, axis)
    return picture


def eight_bit(picture: Float[np.ndarray, "..."]) -> str:
    """A signed picture as base64 of one byte a pixel, 128 for zero."""
    top = float(np.abs(picture).max()) or 1.0
    return base64.b64encode(np.rint(128 + 127 * picture / top).astype(np.uint8).tobytes()).decode()


def samples_picture(samples: Float[np.ndarray, "N C H W"]) -> str:
    """Samples in [-1, 1] side by side, as the data URI of a PNG."""
    sheet = np.nan_to_num(mosaic(samples.astype(float)), nan=1.0)
    pixels = np.rint(127.5 * (np.clip(sheet, -1, 1) + 1)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
