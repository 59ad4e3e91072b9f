"""The first samples of a dataset, side by side.

Samples within [-1, 1] are shown as they are, -1 black and 1 white; others are divided by their
largest magnitude first. Samples without height are the rows of one picture.
"""

import math

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ...data import Dataset
from .directions import loudest

SHOWN = 64
GAP = 1  # pixels between two samples


def draw_contact_sheet(data: Dataset) -> Figure:
    """The figure for one dataset."""
    samples = data.samples[:SHOWN]
    picture = mosaic(samples) if samples.ndim == 4 else samples.reshape(len(samples), -1)
    figure = Figure(figsize=(6.4, 6.8), layout="constrained")
    axes = figure.subplots()
    scale = max(1.0, float(np.nanmax(np.abs(picture))))
    axes.imshow(
        np.nan_to_num(picture / scale, nan=1.0) / 2 + 0.5,
        cmap="gray",
        vmin=0,
        vmax=1,
        interpolation="nearest",
        aspect="equal" if samples.ndim == 4 else "auto",
    )
    axes.set_axis_off()
    shape = "x".join(map(str, data.shape))
    divided = "" if scale == 1 else f", divided by {scale:.3g}"
    axes.set_title(
        f"{data.name}\n{len(samples)} of {len(data):,} samples of {shape}{divided}", fontsize=9
    )
    return figure


def mosaic(samples: Float[np.ndarray, "N C H W"]) -> Float[np.ndarray, "height width *colours"]:
    """Samples in rows, NaN between them; three channels are colours, else the loudest is shown.

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
