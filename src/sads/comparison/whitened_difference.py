"""The difference of two geometries, fold by fold, in the eigenbasis of what they have in common.

A_f and B_f are the folds of two factors, u_f their weights, and

    P = sum_f u_f [(1 - w) A_f + w B_f] = V diag(lambda) V^T,      S = V lambda^{-1/2},
    D_f = S^T (B_f - A_f) S,

on the numerical range of P, so that small eigenvalues count as much as large ones. The bands are
P's. D_f has these parts:

| part     | of D_f                                                          |
|----------|-----------------------------------------------------------------|
| whole    | all entries                                                     |
| scale    | mean of the diagonal: a common factor                           |
| shape    | the whole without its scale                                     |
| ratio    | mean of the diagonal over a band: its eigenvalue                |
| rotation | rows of a band without that mean: mixing, also inside the band  |

The whitened difference of B = c A is a multiple of the identity, so its shape is zero, whatever c:
equal shapes are geometries that are equal after division by their traces.

*Why the same folds may choose P and be tested.* Negating D_f swaps A_f and B_f. With as many
networks behind either and w = 1/2 the swap leaves P as it is. Otherwise w is in inverse proportion
to the variances, which makes P and D_f uncorrelated; for Wishart matrices of one law S^T A_f S and
S^T B_f S are then independent of P, and D_f has mean zero given P. With w = 1/2 regardless, the
differences are larger under their true signs than under others, and equal geometries are told
apart. So bands and whitening cost no folds. w stays within [0.02, 0.98]: P has the range of both.

*Sizes* should not depend on w, so they are told relative to the plain mean (A + B) / 2, which in
these coordinates is I + (1/2 - w) D, D = sum_f u_f D_f.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from ..directions import Band, Spectrum, exact_spectrum, sampled_spectrum
from ..directions.whitening import numerical_range
from ..geometry import Geometry
from .level import Level

LEAST_SHARE = 0.02
NOISELESS = 1e-12  # parts below this fraction of the squared difference are rounding


@dataclass(frozen=True)
class WhitenedDifference:
    """D_f, as far as tests need it. Numbers and Gram matrices are of the weighted u_f D_f.

    Attributes:
        bands: of the pooled estimate P, in descending order; only those in its range.
        edges: where each band starts among the r directions of that range, and r.
        eigenvalues: of P on its range.
        weights: u_f, summing to one; one fold if both geometries are closed forms.
        first: diagonals of S^T A_f S.
        second: diagonals of S^T B_f S.
        rows: for each direction i the Gram matrix sum_j u_f u_g D_f[i, j] D_g[i, j].
        plain: the mean over the folds, whitened by (A + B) / 2.
    """

    bands: tuple[Band, ...]
    edges: Int[np.ndarray, " b1"]
    eigenvalues: Float[np.ndarray, " r"]
    weights: Float[np.ndarray, " K"]
    first: Float[np.ndarray, "K r"]
    second: Float[np.ndarray, "K r"]
    rows: Float[np.ndarray, "r K K"]
    plain: "WhitenedDifference | None" = None

    @classmethod
    def of(cls, a: Geometry, b: Geometry) -> "WhitenedDifference":
        """B - A, whitened by what the two have in common."""
        level, counts, share = Level.of(a, b), _fold_counts(a, b), _share(a, b)
        weights = counts / counts.sum()
        spectrum, values = _pooled(a, b, level, counts, share)
        kept = numerical_range(values, float(values.max()))
        scale = spectrum.factor_vectors[:, kept] / np.sqrt(values[kept])
        size = (len(weights), scale.shape[1])
        first, second = np.empty(size), np.empty(size)
        difference = np.empty((*size, size[1]))
        for f in range(len(weights)):
            x, y = level.fold(a, f) @ scale, level.fold(b, f) @ scale
            first[f], second[f] = (np.einsum("ij,ij->j", scale, z) for z in (x, y))
            difference[f] = weights[f] * (scale.T @ (y - x))
        rows = np.stack([d @ d.T for d in difference.transpose(1, 0, 2)])
        starts = np.array([band.first // spectrum.structure.copies for band in spectrum.bands])
        inside = starts < size[1]
        bands = tuple(band for band, kept in zip(spectrum.bands, inside, strict=True) if kept)
        edges = np.append(starts[inside], size[1])
        plain = cls(
            bands, edges, values[kept], np.ones(1), *_at_plain_mean(difference.sum(axis=0), share)
        )
        return cls(bands, edges, values[kept], weights, first, second, rows, plain)

    @property
    def rank(self) -> int:
        return len(self.eigenvalues)

    @property
    def width(self) -> Int[np.ndarray, " b"]:
        """Directions in each band."""
        return np.diff(self.edges)

    @cached_property
    def whole(self) -> Float[np.ndarray, "K K"]:
        return self.rows.sum(axis=0)

    @cached_property
    def scale(self) -> Float[np.ndarray, " K"]:
        return self.weights * (self.second - self.first).mean(axis=1)

    @cached_property
    def shape(self) -> Float[np.ndarray, "K K"]:
        rest = self.whole - self.rank * np.outer(self.scale, self.scale)
        return self._above_rounding(rest[None])[0]

    @cached_property
    def ratio(self) -> Float[np.ndarray, "K b"]:
        return self.weights[:, None] * self.band_means(self.second - self.first)

    @cached_property
    def rotation(self) -> Float[np.ndarray, "b K K"]:
        squares = self.ratio.T[:, :, None] * self.ratio.T[:, None, :]
        grams = np.add.reduceat(self.rows, self.edges[:-1], axis=0)
        return self._above_rounding(grams - self.width[:, None, None] * squares)

    def band_means(self, forms: Float[np.ndarray, "K r"]) -> Float[np.ndarray, "K b"]:
        """The mean of a diagonal over each band."""
        return np.add.reduceat(forms, self.edges[:-1], axis=1) / self.width

    def _above_rounding(self, grams: Float[np.ndarray, "b K K"]) -> Float[np.ndarray, "b K K"]:
        """Zero instead of Gram matrices that are nothing but rounding."""
        kept = np.trace(grams, axis1=1, axis2=2) > NOISELESS * np.trace(self.whole)
        return np.where(kept[:, None, None], grams, 0.0)


def _fold_counts(a: Geometry, b: Geometry) -> Int[np.ndarray, " K"]:
    """Weights of the folds: in inverse proportion to the variance of D_f."""
    inverse = [1 / g.state.counts for g in (a, b) if not g.exact]
    harmonic = 1 / np.sum(inverse, axis=0) if inverse else np.ones(1)
    return np.round(1e6 * harmonic / harmonic.max()).astype(int)


def _share(a: Geometry, b: Geometry) -> float:
    """w, the share of the second geometry in P."""
    spread = [(g.trace * (g.whitened_error or 0.0)) ** 2 for g in (a, b)]
    share = spread[0] / sum(spread) if any(spread) else 0.5
    return float(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE))


def _at_plain_mean(
    d: Float[np.ndarray, "r r"], share: float
) -> tuple[Float[np.ndarray, "1 r"], Float[np.ndarray, "1 r"], Float[np.ndarray, "r 1 1"]]:
    """`first`, `second` and `rows` of the mean difference D, whitened by the plain mean."""
    delta, turn = np.linalg.eigh(d)
    middle = 1 + (0.5 - share) * delta
    first = turn**2 @ ((1 - share * delta) / middle)
    difference = turn * (delta / middle) @ turn.T
    rows = np.sum(difference**2, axis=1)
    return first[None], (first + np.diag(difference))[None], rows[:, None, None]


def _pooled(
    a: Geometry, b: Geometry, level: Level, counts: Int[np.ndarray, " K"], share: float
) -> tuple[Spectrum, Float[np.ndarray, " n"]]:
    """Eigenvectors and bands of P, and its plain eigenvalues."""
    folds = np.empty((len(counts), *(level.structure.rows,) * 2))
    for f in range(len(counts)):
        folds[f] = (1 - share) * level.fold(a, f) + share * level.fold(b, f)
    if len(counts) == 1:
        spectrum = exact_spectrum(folds[0], level.structure, level.symmetries)
    else:
        spectrum = sampled_spectrum(folds, counts, level.structure, level.symmetries)
    mean, vectors = np.tensordot(counts / counts.sum(), folds, axes=1), spectrum.factor_vectors
    return spectrum, np.einsum("ij,ij->j", vectors, mean @ vectors)
