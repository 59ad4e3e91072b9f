"""The difference of two geometries, fold by fold, in the eigenbasis of what they have in common.

A_f and B_f are the folds of two factors, u_f their weights, c = tr B / tr A, and

    P = sum_f u_f [(1 - w) A_f + w B_f / c] = V diag(lambda) V^T,      S = V lambda^{-1/2},
    D_f = S^T (B_f - A_f) S,      R_f = S^T (B_f / c - A_f) S,

on the numerical range of P, so that small eigenvalues count as much as large ones. The bands are
P's. D_f says how large the difference is, and R_f, the difference after division by the traces,
whether there is one beside a factor. They have these parts:

| part     |                                                                 |
|----------|-----------------------------------------------------------------|
| whole    | all entries                                                     |
| shape    | the whole without the mean of the diagonal, a common factor     |
| ratio    | mean of the diagonal over a band: its eigenvalue                |
| rotation | rows of a band without that mean: mixing, also inside the band  |

*Why the same folds may choose P and be tested.* Negating R_f swaps A_f and B_f / c. With as many
networks behind either and w = 1/2 the swap leaves P as it is. Otherwise w is in inverse proportion
to the relative variances, which makes P and R_f uncorrelated; for Wishart matrices of one law up to
a factor S^T A_f S and S^T B_f S are then independent of P, and R_f has mean zero given P. With w =
1/2 regardless, the differences are larger under their true signs than under others, and equal
geometries are told apart; likewise if B is not divided by c and the two differ by a factor. So no
folds are needed for bands and whitening alone. w stays within [0.02, 0.98], so P has the range of
both.

*Sizes* should depend neither on w nor on c, so they are relative to the plain mean (A + B) / 2,
see `_at_plain_mean`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from ..directions import Band, Spectrum, exact_spectrum, sampled_spectrum
from ..directions.whitening import numerical_range
from ..geometry import Geometry
from .common_structure import CommonStructure

LEAST_SHARE = 0.02
BLOCK_BYTES = 2**31  # of whitened differences that are kept at once
LEAST_ROWS = 512  # of them, however long they are
NOISELESS = 1e-12  # parts below this fraction of the squared difference are rounding


@dataclass(frozen=True)
class Parts:
    """Gram matrices of a difference, of the weighted u_f D_f or u_f R_f.

    Attributes:
        edges: where each band starts among the r directions, and r.
        means: mean of the diagonal over each band.
        rows: for each direction i the Gram matrix sum_j u_f u_g D_f[i, j] D_g[i, j].
    """

    edges: Int[np.ndarray, " b1"]
    means: Float[np.ndarray, "K b"]
    rows: Float[np.ndarray, "r K K"]

    @cached_property
    def whole(self) -> Float[np.ndarray, "K K"]:
        return self.rows.sum(axis=0)

    @cached_property
    def shape(self) -> Float[np.ndarray, "K K"]:
        width, rank = np.diff(self.edges), len(self.rows)
        mean = self.means @ width / rank
        return self._above_rounding((self.whole - rank * np.outer(mean, mean))[None])[0]

    @cached_property
    def rotation(self) -> Float[np.ndarray, "b K K"]:
        squares = self.means.T[:, :, None] * self.means.T[:, None, :]
        grams = np.add.reduceat(self.rows, self.edges[:-1], axis=0)
        return self._above_rounding(grams - np.diff(self.edges)[:, None, None] * squares)

    def _above_rounding(self, grams: Float[np.ndarray, "b K K"]) -> Float[np.ndarray, "b K K"]:
        """Gram matrices, with zeros for those that are only rounding."""
        kept = np.trace(grams, axis1=1, axis2=2) > NOISELESS * np.trace(self.whole)
        return np.where(kept[:, None, None], grams, 0.0)


@dataclass(frozen=True)
class WhitenedDifference:
    """The parts of D_f and R_f that the tests need.

    Attributes:
        bands: the bands of the pooled estimate P, in descending order; only those in its range.
        edges: where each band starts among the r directions of that range, and r.
        eigenvalues: the eigenvalues of P on its range.
        weights: u_f, summing to one; one fold if both geometries are closed forms.
        first: diagonals of S^T A_f S.
        second: diagonals of S^T B_f S.
        difference: parts of D_f.
        relative: parts of R_f.
        plain: parts of the mean of D_f, whitened by (A + B) / 2.
    """

    bands: tuple[Band, ...]
    edges: Int[np.ndarray, " b1"]
    eigenvalues: Float[np.ndarray, " r"]
    weights: Float[np.ndarray, " K"]
    first: Float[np.ndarray, "K r"]
    second: Float[np.ndarray, "K r"]
    difference: Parts
    relative: Parts
    plain: Parts

    @classmethod
    def of(cls, a: Geometry, b: Geometry) -> "WhitenedDifference":
        """B - A, whitened by the pool of the two."""
        shared, counts, share = CommonStructure.of(a, b), _fold_counts(a, b), _share(a, b)
        weights, factor = counts / counts.sum(), shared.trace(b) / shared.trace(a)
        spectrum, values = _pooled(a, b, shared, counts, share, factor)
        kept = numerical_range(values, float(values.max()))
        scale = spectrum.factor_vectors[:, kept] / np.sqrt(values[kept])
        first, second, mean, rows, relative_rows = _in_blocks(a, b, shared, scale, weights, factor)
        starts = np.array([band.first // spectrum.structure.copies for band in spectrum.bands])
        inside = starts < len(mean)
        bands = tuple(band for band, kept in zip(spectrum.bands, inside, strict=True) if kept)
        edges = np.append(starts[inside], len(mean))

        def parts(diagonals: np.ndarray, grams: np.ndarray) -> Parts:
            return Parts(edges, _band_means(weights[:, None] * diagonals, edges), grams)

        diagonal, grams = _at_plain_mean(mean, share, factor)
        return cls(
            bands,
            edges,
            values[kept],
            weights,
            first,
            second,
            parts(second - first, rows),
            parts(second / factor - first, relative_rows),
            Parts(edges, _band_means(diagonal[None], edges), grams),
        )

    @property
    def rank(self) -> int:
        return len(self.eigenvalues)

    @property
    def width(self) -> Int[np.ndarray, " b"]:
        """The number of directions in each band."""
        return np.diff(self.edges)

    def band_means(self, forms: Float[np.ndarray, "K r"]) -> Float[np.ndarray, "K b"]:
        """The mean of a diagonal over each band."""
        return _band_means(forms, self.edges)


def _in_blocks(
    a: Geometry,
    b: Geometry,
    shared: CommonStructure,
    scale: Float[np.ndarray, "n r"],
    weights: Float[np.ndarray, " K"],
    factor: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Diagonals of S^T A_f S and S^T B_f S, the mean of D_f, and the Gram matrices of D_f and R_f.

    S is `scale` and c is `factor`. Of large factors only some rows of D_f are in memory at once;
    every block of rows needs all folds again, which are costly to make.
    """
    folds, rank = len(weights), scale.shape[1]
    size = max(LEAST_ROWS, BLOCK_BYTES // (16 * folds * rank))
    first, second = np.empty((2, folds, rank))
    mean = np.empty((rank, rank))
    rows, relative_rows = np.empty((2, rank, folds, folds))
    for start in range(0, rank, size):
        block = slice(start, min(start + size, rank))
        difference, relative = np.empty((2, block.stop - start, folds, rank))
        for f in range(folds):
            x, y = ((shared.fold(g, f) @ scale[:, block]).T @ scale for g in (a, b))
            first[f, block], second[f, block] = (np.diagonal(z[:, block]) for z in (x, y))
            difference[:, f] = weights[f] * (y - x)
            relative[:, f] = weights[f] * (y / factor - x)
        mean[block] = difference.sum(axis=1)
        rows[block] = difference @ difference.transpose(0, 2, 1)
        relative_rows[block] = relative @ relative.transpose(0, 2, 1)
    return first, second, mean, rows, relative_rows


def _band_means(
    forms: Float[np.ndarray, "K r"], edges: Int[np.ndarray, " b1"]
) -> Float[np.ndarray, "K b"]:
    return np.add.reduceat(forms, edges[:-1], axis=1) / np.diff(edges)


def _fold_counts(a: Geometry, b: Geometry) -> Int[np.ndarray, " K"]:
    """Weights of the folds: in inverse proportion to the variance of D_f."""
    inverse = [1 / g.state.counts for g in (a, b) if not g.exact]
    harmonic = 1 / np.sum(inverse, axis=0) if inverse else np.ones(1)
    return np.round(1e6 * harmonic / harmonic.max()).astype(int)


def _share(a: Geometry, b: Geometry) -> float:
    """w, the share of the second geometry in P."""
    spread = [(g.whitened_error or 0.0) ** 2 for g in (a, b)]
    share = spread[0] / sum(spread) if any(spread) else 0.5
    return float(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE))


def _at_plain_mean(
    d: Float[np.ndarray, "r r"], share: float, factor: float
) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r 1 1"]]:
    """Diagonal and squared rows of the mean difference D, whitened by the plain mean.

    In these coordinates I = P = (1 - w) A + w B / c. With B = A + D and g = 1 - w + w / c that is
    A = (I - w D / c) / g, so that (A + B) / 2 = I / g + (1 / 2 - w / (c g)) D.
    """
    delta, turn = np.linalg.eigh(d)
    g = 1 - share + share / factor
    middle = 1 / g + (0.5 - share / (factor * g)) * delta
    difference = turn * (delta / middle) @ turn.T
    return np.diag(difference), np.sum(difference**2, axis=1)[:, None, None]


def _pooled(
    a: Geometry,
    b: Geometry,
    shared: CommonStructure,
    counts: Int[np.ndarray, " K"],
    share: float,
    factor: float,
) -> tuple[Spectrum, Float[np.ndarray, " n"]]:
    """Eigenvectors and bands of P, and its plain eigenvalues."""
    folds = np.empty((len(counts), *(shared.structure.rows,) * 2))
    for f in range(len(counts)):
        folds[f] = (1 - share) * shared.fold(a, f) + share / factor * shared.fold(b, f)
    if len(counts) == 1:
        spectrum = exact_spectrum(folds[0], shared.structure, shared.symmetries)
    else:
        spectrum = sampled_spectrum(folds, counts, shared.structure, shared.symmetries)
    mean, vectors = np.tensordot(counts / counts.sum(), folds, axes=1), spectrum.factor_vectors
    return spectrum, np.einsum("ij,ij->j", vectors, mean @ vectors)
