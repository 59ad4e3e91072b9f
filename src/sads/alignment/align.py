"""How data lies in a geometry (section 3.3).

    alpha = E[x^T G x] = tr(G C)                                             (equation 6, W = I)

Over all rotations W of the data (theorem 2), with descending eigenvalues lambda of G and sigma of
C,

    alpha_min = sum_i lambda_i sigma_{D+1-i},      alpha_max = sum_i lambda_i sigma_i,

and the *position* is (alpha - alpha_min) / (alpha_max - alpha_min). These are exact for the pair of
estimates at hand. For the true pair they are too extreme: the minimum is too low and the maximum
too high, because noise spreads the eigenvalues of both. `debiased` uses cross-fitted eigenvalues of
G instead, which are free of that bias to second order (`directions.spectrum`).

`relative` is scale-free: alpha D / (tr G tr C), 1 for an isotropic geometry or isotropic data.

Errors combine two independent sources: the spread of x^T G x over the samples, and the spread of
tr(G_k C) over the independent folds G_k of the geometry.

*In a subspace* with the projection P on it all of this is about P G P and P C P, and rotations are
those that keep the subspace. With F the score and x an independent sample, alpha is E[(a + b)^2]
with a = (P x)^T F and b = (x - P x)^T F, so that the alpha of the whole is within

    (sqrt(alpha) -+ sqrt(beta))^2,      beta = E[b^2] <= tr(G - P G P) (E|x|^2 - E|P x|^2) / copies.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ..directions import Band, Structure
from ..directions.structure import Compressed
from ..directions.symmetry import average
from ..foundation.data_frames import as_frame
from ..foundation.rendering import Shown
from ..geometry import Geometry
from .moments import Samples, second_moment

if TYPE_CHECKING:
    import pandas

ROUNDING = 1e-9  # extremes closer than this, relative to alpha, are equal


@dataclass(frozen=True)
class Share:
    """The part of the data's second moment that lies on a band."""

    band: Band
    eigenvalue: float
    share: float


@dataclass(frozen=True, eq=False)
class Alignment(Shown):
    """How a dataset lies in a geometry.

    Attributes:
        geometry: the geometry of the network.
        data: name of the data.
        samples: the number of samples.
        reduced: the matrix R of the data's second moment (`moments`).
        sigmas: eigenvalues of the second moment C, descending.
        alpha: tr(G C).
        alpha_error: its standard error.
        alpha_min: the least over all rotations of the data.
        alpha_max: the largest.
        relative: alpha D / (tr G tr C).
        relative_error: its standard error.
        energy: share of the data's second moment in the subspace of the geometry; 1 in the whole
            space.

    >>> import sads
    >>> geometry = sads.estimate_geometry("cnn", shape="1x8x8", networks=24)
    >>> alignment = sads.align(geometry, "digits")
    >>> alignment.alpha_min < alignment.alpha < alignment.alpha_max
    True
    """

    geometry: Geometry
    data: str
    samples: int
    reduced: Float[np.ndarray, "n n"]
    sigmas: Float[np.ndarray, " D"]
    alpha: float
    alpha_error: float
    alpha_min: float
    alpha_max: float
    relative: float
    relative_error: float
    energy: float = 1.0

    @property
    def limits(self) -> tuple[float, float]:
        """The limits of alpha in the whole space; equal if the geometry covers all of it."""
        if not self.geometry.compressed:
            return self.alpha, self.alpha
        share, trace = self.geometry.inside[0], float(np.trace(self.reduced))
        outside = max(1.0 - share, 0.0) * self.geometry.trace / self.geometry.structure.copies
        beta = outside * (trace / self.energy - trace if self.energy > 0 else 0.0)
        low = max(np.sqrt(self.alpha) - np.sqrt(beta), 0.0) ** 2
        return float(low), float((np.sqrt(self.alpha) + np.sqrt(beta)) ** 2)

    @property
    def singular(self) -> bool:
        """Whether there are fewer samples than dimensions, so that some directions have none."""
        return self.samples < len(self.sigmas)

    @cached_property
    def isotropic(self) -> bool:
        """Whether the estimate shows no difference between any directions."""
        if self.alpha_max - self.alpha_min <= ROUNDING * self.alpha_max:
            return True
        bands = self.geometry.spectrum().bands
        return len(bands) == 1 and not bands[0].null

    @property
    def position(self) -> float | None:
        """0 at the minimum over all rotations, 1 at the maximum; None if G is isotropic."""
        if self.isotropic:
            return None
        return (self.alpha - self.alpha_min) / (self.alpha_max - self.alpha_min)

    @property
    def debiased(self) -> tuple[float, float]:
        """The extremes with cross-fitted eigenvalues of G."""
        return _extremes(self.geometry.spectrum().eigenvalues, self.sigmas)

    @cached_property
    def row_shares(self) -> Float[np.ndarray, " n"]:
        """How much of the second moment lies on each eigenvector of the factor, all copies."""
        vectors = self.geometry.spectrum().factor_vectors
        energy = np.einsum("ij,ij->j", vectors, self.reduced @ vectors)
        return energy / energy.sum()

    @cached_property
    def profile(self) -> tuple[Share, ...]:
        """How much of the second moment lies on each band, in the order of the bands."""
        spectrum, copies = self.geometry.spectrum(), self.geometry.structure.copies
        rows = [slice(b.first // copies, b.last // copies + 1) for b in spectrum.bands]
        return tuple(
            Share(b, float(spectrum.factor_values[r].mean()), float(self.row_shares[r].sum()))
            for b, r in zip(spectrum.bands, rows, strict=True)
        )

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each band and the data's share on it; needs pandas."""
        return as_frame(
            {"first": one.band.first, "last": one.band.last}
            | {"eigenvalue": one.eigenvalue, "share": one.share}
            for one in self.profile
        )

    def __repr__(self) -> str:
        return (
            f"Alignment({self.data}, {self.geometry.plan.network}, alpha {self.alpha:.5g} ± "
            f"{self.alpha_error:.2g}, {self.relative:.3g} times no preference)"
        )


def align(geometry: Geometry, data: Samples, *, name: str = "data") -> Alignment:
    """Measure how data lies in a geometry, in one pass over the data.

    Args:
        geometry: the geometry of an untrained architecture.
        data: a dataset, an array (N, *shape), or an iterable of such arrays.
        name: a name for data that has none itself.
    """
    sums = np.zeros((2, 2))
    factor = geometry.factor  # its temporary memory is free again before that of C is needed

    def watch(chunk: Float[np.ndarray, "n D"]) -> None:
        forms = _forms(geometry.structure, factor, chunk)
        both = np.stack([forms, np.square(chunk).sum(axis=1)])
        sums[:] += both @ both.T

    structure = geometry.structure
    inside = structure if isinstance(structure, Compressed) else None
    moment = second_moment(data, geometry.shape, subspace=inside, watch=watch, name=name)
    reduced, trace = moment.reduced(structure), moment.trace if inside is None else moment.energy
    energy = 1.0 if inside is None else moment.trace / moment.energy
    sigmas = moment.eigenvalues(destroy=True)
    alpha = float(np.vdot(factor, reduced))
    scale = geometry.structure.size / (geometry.trace * trace)
    spread = _fold_errors(geometry, reduced, scale * geometry.trace)
    lowest, highest = _extremes(_eigenvalues(geometry), sigmas)
    # Delta method for the mean of q = x^T G x and for the ratio of the means of q and s = |x|^2.
    data_variance = max(sums[0, 0] / moment.count - alpha**2, 0.0)
    slope = np.array([1.0, -alpha / trace])
    ratio_variance = scale**2 * max(float(slope @ sums @ slope), 0.0) / moment.count
    number = max(moment.count - 1, 1)
    return Alignment(
        geometry,
        moment.name,
        moment.count,
        reduced,
        sigmas,
        alpha,
        alpha_error=float(np.sqrt(data_variance / number + spread[0] ** 2)),
        alpha_min=lowest,
        alpha_max=highest,
        relative=alpha * scale,
        relative_error=float(np.sqrt(ratio_variance / number + spread[1] ** 2)),
        energy=energy,
    )


def _forms(
    structure: Structure, factor: Float[np.ndarray, "n n"], chunk: Float[np.ndarray, "k D"]
) -> Float[np.ndarray, " k"]:
    """x^T G x of each sample; in a subspace from the coordinates alone."""
    if not isinstance(structure, Compressed):
        return np.einsum("ij,ij->i", chunk, structure.apply(factor, chunk))
    parts = structure.parts(chunk)
    return np.einsum("ijk,ijk->i", parts, parts @ factor)


def _eigenvalues(geometry: Geometry) -> Float[np.ndarray, " D"]:
    """Eigenvalues of the estimate itself, descending; theorem 2 is exact for them."""
    values = np.linalg.eigvalsh(geometry.factor)[::-1]
    return np.repeat(np.maximum(values, 0.0), geometry.structure.copies)


def _extremes(
    values: Float[np.ndarray, " D"], sigmas: Float[np.ndarray, " D"]
) -> tuple[float, float]:
    """Theorem 2, for eigenvalues in descending order."""
    return float(values @ sigmas[::-1]), float(values @ sigmas)


def _fold_errors(
    geometry: Geometry, reduced: Float[np.ndarray, "n n"], scale: float
) -> tuple[float, float]:
    """Standard errors of alpha and of alpha scale / tr G over the networks, from the folds."""
    if geometry.exact:
        return 0.0, 0.0
    alphas, ratios = [], []
    for k, fold in enumerate(geometry.each_fold):  # twelve factors may be gigabytes
        factor = average(fold, geometry.structure, geometry.symmetries)
        alphas.append(float(np.vdot(factor, reduced)))
        trace = float(np.trace(factor)) * geometry.structure.copies
        if geometry.compressed:
            trace = geometry.fold_trace(k)
        ratios.append(scale * alphas[-1] / trace)
    count = np.sqrt(len(alphas))
    return float(np.std(alphas, ddof=1) / count), float(np.std(ratios, ddof=1) / count)
