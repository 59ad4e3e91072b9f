"""Data on known manifolds: a line or a sphere inside the space of samples.

*Rank one.* x = sqrt(D) g v with g standard normal and a unit vector v, so that E[x x^T] = D v v^T
has the trace of white noise (section 3).

*Sphere.* x = sqrt(D) V z with z uniform on the unit sphere of R^3 and three orthonormal columns V,
so that |x| = sqrt(D) for every sample (figure 1).

Directions come from a basis (`data.bases`) or from a geometry's spectrum. A single eigenvector of
a degenerate band means nothing, so `band_direction` draws a unit vector uniformly from the band's
subspace instead, and `band_directions` draws several orthonormal ones.

The direction, the training set and the held-out set have separate random streams, so that a
held-out set shares only its direction with the training set.
"""

import math

import numpy as np
from jaxtyping import Float

from ..directions import Spectrum
from ..errors import InputError
from ..randomness import Random, as_generator, stream
from .selection import SPLITS


def split_stream(seed: int, split: str) -> np.random.Generator:
    """The random numbers of a seed for the samples of a split."""
    return stream(seed, "samples on a known manifold", SPLITS.index(split))


def rank_one(
    direction: Float[np.ndarray, " D"], count: int, generator: Random
) -> Float[np.ndarray, "{count} D"]:
    """Samples on the line of a unit vector, as float32; `generator` may be a seed."""
    if not math.isclose(float(np.linalg.norm(direction)), 1.0, rel_tol=1e-6):
        raise InputError(f"a direction has length 1, got {np.linalg.norm(direction):.6g}")
    scale = as_generator(generator, "a line").standard_normal(count) * math.sqrt(len(direction))
    return np.outer(scale.astype(np.float32), direction.astype(np.float32))


def sphere(
    directions: Float[np.ndarray, "D 3"], count: int, generator: Random
) -> Float[np.ndarray, "{count} D"]:
    """Samples on the sphere of radius sqrt(D) in three orthonormal columns, as float32.

    `generator` may be a seed.
    """
    if not np.allclose(directions.T @ directions, np.eye(3), atol=1e-6):
        raise InputError("a sphere needs three orthonormal directions: choose different ones")
    z = as_generator(generator, "a sphere").standard_normal((count, 3))
    z *= math.sqrt(len(directions)) / np.linalg.norm(z, axis=1, keepdims=True)
    return z.astype(np.float32) @ directions.T.astype(np.float32)


def band_direction(spectrum: Spectrum, band: int, seed: int) -> Float[np.ndarray, " D"]:
    """A unit vector drawn uniformly from the subspace of a band."""
    return band_directions(spectrum, band, seed, 1)[:, 0]


def band_directions(
    spectrum: Spectrum, band: int, seed: int, count: int
) -> Float[np.ndarray, "D {count}"]:
    """Orthonormal columns drawn uniformly from the subspace of a band."""
    if not 0 <= band < len(spectrum.bands):
        raise InputError(
            f"band {band} does not exist: the geometry has bands 0 to {len(spectrum.bands) - 1}"
        )
    chosen = spectrum.bands[band]
    if chosen.width < count:
        raise InputError(
            f"band {band} has {chosen.width} directions, {count} are needed: choose a wider band"
        )
    weights = stream(seed, "directions in a band").standard_normal((count, chosen.width))
    vectors = [spectrum.vector(i) for i in range(chosen.first, chosen.last + 1)]
    columns: list[np.ndarray] = []
    for row in weights:
        mixture = np.asarray(sum(w * v for w, v in zip(row, vectors, strict=True)))
        for known in columns:  # Gram-Schmidt: the first direction is the draw itself
            mixture = mixture - known * (known @ mixture)
        columns.append(mixture / np.linalg.norm(mixture))
    return np.stack(columns, axis=1)


def index_direction(spectrum: Spectrum, index: int) -> Float[np.ndarray, " D"]:
    """The eigenvector of one index, 0 for the largest eigenvalue."""
    size = spectrum.structure.directions
    if not 0 <= index < size:
        raise InputError(f"index {index} is outside the geometry: choose 0 to {size - 1}")
    return spectrum.vector(index)
