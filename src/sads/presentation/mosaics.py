"""Pictures of eigenvectors and samples as arrays, without a plotting library."""

import math

import numpy as np
from jaxtyping import Float

from ..directions import Structure

GAP = 1  # pixels between two samples


def pictured(vector: Float[np.ndarray, " D"], structure: Structure) -> Float[np.ndarray, "..."]:
    """The shown part of an eigenvector: its strongest channel, or strongest pixel of every patch.

    A token-wise layer treats the pixels of a patch alike, so its eigenvectors live on one of them;
    as images they would be dots, and their DFT would repeat itself.
    """
    structure = structure.imposed
    if structure.kind != "tokens":
        return loudest(vector.reshape(structure.shape))
    return loudest(vector[structure.entries.T].reshape(-1, *structure.places))


def loudest(vector: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The channel that carries most of the energy; a flat vector is itself."""
    if vector.ndim == 1:
        return vector
    energy = np.square(vector).reshape(len(vector), -1).sum(axis=1)
    return vector[int(energy.argmax())]


def mosaic(samples: Float[np.ndarray, "N C H W"]) -> Float[np.ndarray, "height width *colours"]:
    """Samples in rows, NaN between them; three channels are colours, else the strongest is shown.

    >>> mosaic(np.zeros((5, 1, 2, 3))).shape
    (5, 11)
    """
    if samples.shape[1] == 3:
        tiles = samples.transpose(0, 2, 3, 1)
    else:
        tiles = np.stack([loudest(sample) for sample in samples])
    columns = math.ceil(math.sqrt(len(tiles)))
    rows = math.ceil(len(tiles) / columns)
    height, width, *colours = tiles.shape[1:]
    high, wide = height + GAP, width + GAP
    sheet = np.full((rows * high - GAP, columns * wide - GAP, *colours), np.nan)
    for index, tile in enumerate(tiles):
        top, left = index // columns * high, index % columns * wide
        sheet[top : top + height, left : left + width] = tile
    return sheet
