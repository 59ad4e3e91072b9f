"""The embedded dataset: 1,797 handwritten digits of 8x8 pixels that ship with scikit-learn."""

import numpy as np
from jaxtyping import Float
from scipy.ndimage import zoom
from sklearn.datasets import load_digits

from ..errors import InputError


def read_digits(size: int = 8) -> Float[np.ndarray, "1797 1 size size"]:
    """The digits in [-1, 1], resized bilinearly to `size` pixels a side."""
    if not 2 <= size <= 256:
        raise InputError(f"digits can be resized to 2 to 256 pixels a side, got {size}")
    flat, _ = load_digits(return_X_y=True)
    images = np.asarray(flat).reshape(-1, 8, 8) / 8.0 - 1.0
    if size != 8:
        factor = size / 8
        images = np.asarray(
            zoom(images, (1, factor, factor), order=1, mode="nearest", grid_mode=True)
        )
    return np.clip(images, -1.0, 1.0).astype(np.float32)[:, None]
