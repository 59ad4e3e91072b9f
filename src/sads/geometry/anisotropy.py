"""How uneven a geometry is, in one number, and where given directions lie in its spectrum.

*Effective directions.* With eigenvalues l_i of G,

    (sum l_i)^2 / sum l_i^2 = (tr G)^2 / tr G^2

is D if all are equal and 1 if only one is positive. The tr G^2 of an estimate is too large because
of its noise. Independent folds F_k have E tr F_j F_k = tr G^2 for j != k, so the mean over pairs is
free of this bias. The standard error is that of the jackknife over the folds. For a geometry in a
subspace all of this is about the part in the subspace.

*Where a direction lies.* With u a unit vector and v_i the eigenvectors, (u^T v_i)^2 are shares that
add up to one. They are summed over the certified bands, since single eigenvectors of a band mean
nothing.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..directions import Band
from .geometry import Geometry


def effective_directions(geometry: Geometry) -> tuple[float, float]:
    """(tr G)^2 / tr G^2 and its standard error.

    >>> from sads.networks.presets import preset_family
    >>> from sads.geometry import estimate_geometry
    >>> geometry = estimate_geometry(preset_family("mlp", shape=(1, 4, 4)))
    >>> value, error = effective_directions(geometry)
    >>> round(value, 6), error
    (16.0, 0.0)
    """
    copies = geometry.structure.copies
    if geometry.exact:
        factor = geometry.factor
        return copies * float(np.trace(factor)) ** 2 / float((factor * factor).sum()), 0.0
    folds = [fold.flatten() for fold in geometry.each_fold]
    side = geometry.structure.rows
    traces = np.array([fold[:: side + 1].sum() for fold in folds])
    products = np.array([[a @ b for b in folds] for a in folds])
    whole = _ratio(traces, products)
    count = len(folds)
    keep = [np.delete(np.arange(count), k) for k in range(count)]
    left = np.array([_ratio(traces[k], products[np.ix_(k, k)]) for k in keep])
    error = math.sqrt((count - 1) / count * float(((left - left.mean()) ** 2).sum()))
    return min(copies * whole, float(geometry.structure.directions)), copies * error


def _ratio(traces: Float[np.ndarray, " K"], products: Float[np.ndarray, "K K"]) -> float:
    """The ratio for the factor, both parts from pairs of different folds."""
    apart = ~np.eye(len(traces), dtype=bool)
    return float(np.outer(traces, traces)[apart].mean() / products[apart].mean())


@dataclass(frozen=True)
class Place:
    """Where directions lie in a spectrum.

    Attributes:
        band: the band that holds most of them.
        share: the share of them that it holds.
        half: half of them lie in the levels from 0 to this one, inclusive.
        relative: their mean eigenvalue over that of all directions.
    """

    band: Band
    share: float
    half: int
    relative: float


def place_of(geometry: Geometry, directions: Float[np.ndarray, "D q"]) -> Place:
    """Where some unit directions lie, taken together.

    Args:
        geometry: the geometry.
        directions: the directions as columns.
    """
    spectrum, structure = geometry.spectrum(), geometry.structure
    turned = structure.parts(directions.T) @ spectrum.factor_vectors  # (q, m, n)
    shares = np.square(turned).sum(axis=0).T.flatten() / directions.shape[1]
    bands = spectrum.bands
    sums = [float(shares[band.first : band.last + 1].sum()) for band in bands]
    most = int(np.argmax(sums))
    quadratic = float(np.einsum("dq,dq->", directions, geometry.matvec(directions.T).T))
    mean = geometry.trace / structure.size
    half = int(np.searchsorted(shares.cumsum(), 0.5 * shares.sum()))
    return Place(bands[most], sums[most], half, quadratic / directions.shape[1] / mean)
