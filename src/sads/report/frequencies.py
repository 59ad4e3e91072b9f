"""How coarse or fine pictures are: their mean frequency, relative to that of white noise."""

import numpy as np
from jaxtyping import Float

from ..directions import Spectrum
from .pictures import eigenvector_picture

TENTH = 0.1
MOST_LOOKED_AT = 64  # eigenvectors of each end of the spectrum


def mean_frequency(picture: Float[np.ndarray, "..."]) -> float:
    """Mean distance from frequency zero by DFT energy; 1 is the highest along an axis.

    >>> mean_frequency(np.ones((4, 4))), mean_frequency(np.array([1.0, -1, 1, -1]))
    (0.0, 1.0)
    """
    energy = np.abs(np.fft.fftn(picture)) ** 2
    axes = np.meshgrid(*(2 * np.fft.fftfreq(n) for n in picture.shape), indexing="ij")
    radius = np.sqrt(np.sum(np.square(axes), axis=0))
    return float((energy * radius).sum() / energy.sum())


def frequency_of_end(spectrum: Spectrum, *, largest: bool) -> float | None:
    """Mean frequency of the largest or smallest tenth of eigenvalues, relative to white noise.

    None for flat samples. Directions outside the range of the geometry are left out.
    """
    copies = spectrum.structure.copies
    alive = [r for b in spectrum.bands if not b.null for r in range(b.first, b.last + 1, copies)]
    rows = np.unique(np.array(alive) // copies)
    tenth = max(1, round(TENTH * len(rows)))
    part = rows[:tenth] if largest else rows[-tenth:]
    picked = part[np.linspace(0, len(part) - 1, min(len(part), MOST_LOOKED_AT)).astype(int)]
    return _relative_frequency(spectrum, [int(row) for row in picked])


def frequency_of_first(spectrum: Spectrum) -> float | None:
    """Mean frequency of the direction of largest eigenvalue, relative to white noise.

    None for vectors.
    """
    return _relative_frequency(spectrum, [0])


def _relative_frequency(spectrum: Spectrum, rows: list[int]) -> float | None:
    """The mean of some directions, relative to white noise."""
    pictures = [eigenvector_picture(spectrum, row) for row in rows]
    if len(spectrum.structure.shape) < 2 or pictures[0].size < 4:
        return None
    impulse = np.zeros(pictures[0].shape)  # has all frequencies equally
    impulse.flat[0] = 1.0
    return float(np.mean([mean_frequency(p) for p in pictures])) / mean_frequency(impulse)
