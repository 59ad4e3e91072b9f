"""The first samples of a dataset, side by side.

Samples within [-1, 1] are shown as they are, -1 black and 1 white; others are divided by their
largest magnitude first. Samples without height are the rows of one picture.
"""

import numpy as np
from matplotlib.figure import Figure

from ...data import Dataset
from ..mosaics import mosaic

SHOWN = 64


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
