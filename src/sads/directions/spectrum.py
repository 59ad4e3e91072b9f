"""The eigenvalues and eigenvectors of a geometry, with errors, resolution and bands.

*Eigenvalues.* The largest eigenvalues of a noisy matrix are too large and the smallest too small:
to second order the bias of lambda_i is +b_i, b_i = sum_j Var(u_i^T G u_j) / (lambda_i - lambda_j).
The quadratic form of an *independent* estimate in the same eigenvectors is biased by -b_i. The mean
of both, with eigenvectors of a part A,

    (u_A^T A u_A + u_A^T A' u_A) / 2,      A' the mean of all networks outside A,

is free of both. A leaves out each third of the folds in turn. Where sampling does not decide the
order, isotonic regression makes the values descend.

*Standard errors* come from the spread of u_i^T F_k u_i over the folds, with the pooled u_i; they
have `FOLDS` - 1 degrees of freedom, so a 95 % interval is 2.2 standard errors on either side.

*Order.* u_1 has the largest eigenvalue. The score anisotropy directions (SADs) are the same vectors
in ascending order: conjecture 1 of the paper says that the first are modelled best.
"""

import itertools
from bisect import bisect_right
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from ..foundation.data_frames import as_frame
from ..foundation.rendering import Shown
from .bands import Band, bands
from .folds import descending_eigh, restrict_folds
from .levels import Levels, Resolution, simultaneous
from .structure import Structure
from .symmetry import Folds, sectors
from .whitening import numerical_range

if TYPE_CHECKING:
    import pandas

DEGENERATE = 1e-13  # exact eigenvalues closer than this fraction of the largest are equal


@dataclass(frozen=True)
class SADs:
    """Score anisotropy directions, smallest eigenvalue first.

    Attributes:
        eigenvalues: ascending, one for each direction.
        eigenvalue_errors: their standard errors.
        directions: orthonormal columns, D of them or those of a subspace.

    >>> import sads
    >>> geometry = sads.estimate_geometry("cnn", shape="1x4x4", networks=24)
    >>> best = geometry.spectrum().sads
    >>> bool(best.eigenvalues[0] < best.eigenvalues[-1]), best.directions.shape
    (True, (16, 16))
    """

    eigenvalues: Float[np.ndarray, " m"]
    eigenvalue_errors: Float[np.ndarray, " m"]
    directions: Float[np.ndarray, "D m"]


@dataclass(frozen=True)
class Spectrum(Shown):
    """The eigendecomposition of a geometry in the paper's descending order.

    Attributes:
        structure: how the factor makes the whole geometry.
        factor_values: eigenvalues of the factor, shape (n,).
        factor_errors: their standard errors.
        factor_vectors: eigenvectors of the factor as columns, shape (n, n).
        bands: groups of indices of the whole geometry, in order, covering all of them.
        resolution: what is known about each level, in order, covering all of them.

    >>> import sads
    >>> geometry = sads.estimate_geometry("cnn", shape="1x4x4", networks=24)
    >>> spectrum = geometry.spectrum()
    >>> spectrum.eigenvalues.shape, spectrum.vector(0).shape
    ((16,), (16,))
    """

    structure: Structure
    factor_values: Float[np.ndarray, " n"]
    factor_errors: Float[np.ndarray, " n"]
    factor_vectors: Float[np.ndarray, "n n"]
    bands: tuple[Band, ...]
    resolution: tuple[Resolution, ...]

    @property
    def eigenvalues(self) -> Float[np.ndarray, " D"]:
        """All eigenvalues, descending, each repeated as often as the structure says."""
        return np.repeat(self.factor_values, self.structure.copies)

    @property
    def eigenvalue_errors(self) -> Float[np.ndarray, " D"]:
        """Standard errors of the eigenvalues."""
        return np.repeat(self.factor_errors, self.structure.copies)

    @cached_property
    def eigenvectors(self) -> Float[np.ndarray, "D m"]:
        """All eigenvectors as columns, D of them or those of a subspace; see also `vector`."""
        return self.structure.embed(self.factor_vectors)

    def vector(self, index: int) -> Float[np.ndarray, " D"]:
        """The eigenvector of one index."""
        if not 0 <= index < self.structure.directions:
            raise IndexError(f"index {index} is outside 0 to {self.structure.directions - 1}")
        row, copy = divmod(index, self.structure.copies)
        return self.structure.vector(self.factor_vectors[:, row], copy)

    def band_of(self, index: int) -> Band:
        """The band that an index belongs to."""
        return next(band for band in self.bands if band.first <= index <= band.last)

    @property
    def sads(self) -> SADs:
        """The same in ascending order, smallest eigenvalue first."""
        return SADs(
            self.eigenvalues[::-1].copy(),
            self.eigenvalue_errors[::-1].copy(),
            self.eigenvectors[:, ::-1].copy(),
        )

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each level, in descending order; needs pandas."""
        values, errors = self.eigenvalues, self.eigenvalue_errors
        return as_frame(
            {"eigenvalue": values[level.index], "eigenvalue_error": errors[level.index]}
            | asdict(level)
            for level in self.resolution
        )

    def resolution_of(self, index: int) -> Resolution:
        """What is known about the level that an index belongs to."""
        if not 0 <= index < self.structure.directions:
            raise IndexError(f"index {index} is outside 0 to {self.structure.directions - 1}")
        starts = [level.index for level in self.resolution]
        return self.resolution[bisect_right(starts, index) - 1]

    @cached_property
    def windows(self) -> Int[np.ndarray, " D"]:
        """The window of every direction, in levels of its sector; 0 in the null space."""
        windows = [level.window for level in self.resolution]
        return np.repeat(windows, [level.multiplicity for level in self.resolution])

    @property
    def null_directions(self) -> int:
        """Directions outside the range of the geometry."""
        return sum(band.width for band in self.bands if band.null)

    @property
    def unseen(self) -> bool:
        """Whether the null space may be due to too few networks."""
        return any(band.null and not band.certified for band in self.bands)

    @property
    def resolution_median(self) -> int:
        """The median window over the directions outside the null space."""
        live = self._live_windows
        return int(np.quantile(live, 0.5, method="higher")) if len(live) else 0

    @property
    def resolution_worst(self) -> int:
        """The largest window."""
        return int(self._live_windows.max(initial=0))

    @property
    def _live_windows(self) -> Int[np.ndarray, " d"]:
        nulls = [level.multiplicity for level in self.resolution if level.null]
        return self.windows[: self.structure.directions - sum(nulls)]

    @property
    def eigenvalue_accuracy(self) -> float:
        """The median distance from eigenvalues to their limits, relative to the eigenvalue."""
        values = self.eigenvalues
        reach = [
            max(level.eigenvalue_high / value - 1, 1 - level.eigenvalue_low / value)
            for level in self.resolution
            if (value := values[level.index]) > 0
            for _ in range(level.multiplicity)
        ]
        return float(np.median(reach)) if reach else 0.0


def sampled_spectrum(
    folds: Folds,
    counts: Int[np.ndarray, " K"],
    structure: Structure,
    symmetries: tuple[str, ...] = (),
) -> Spectrum:
    """The spectrum of a factor known from independent estimates.

    Args:
        folds: `FOLDS` independent estimates of the factor; they are read once.
        counts: the number of networks behind each.
        structure: how the factor makes the whole geometry.
        symmetries: exact symmetries of the geometry, already tested.
    """
    if structure.rows == 1:  # isotropic by structure: nothing to separate
        return _isotropic(np.stack(list(folds)), structure)
    parts = restrict_folds(folds, counts, sectors(structure, symmetries))
    levels = Levels.of(parts)
    columns = np.empty((structure.rows, structure.rows))
    starts = np.concatenate([[0], levels.multiplicity.cumsum()])
    for number, part in enumerate(parts):
        own = np.flatnonzero(levels.sector == number)
        vectors = part.pooled[1][:, levels.rank[own]]
        for copy, image in enumerate(part.sector.images):
            columns[:, starts[own] + copy] = image @ vectors
    return Spectrum(
        structure,
        np.repeat(levels.values, levels.multiplicity),
        np.repeat(levels.gather(lambda one: one.errors), levels.multiplicity),
        _orient(columns),
        bands(levels, structure.copies),
        levels.resolutions(structure.copies),
    )


def _isotropic(folds: Float[np.ndarray, "K 1 1"], structure: Structure) -> Spectrum:
    """The spectrum of an isotropic geometry, with the eigenvalue's error from the folds."""
    value, error = folds.mean(axis=0), folds.std(axis=0, ddof=1) / np.sqrt(len(folds))
    last, reach = structure.directions - 1, simultaneous(1) * float(error[0, 0])
    band = Band(0, last, 1.0, 0.0, certified=True, exact=True)
    limits = max(float(value[0, 0]) - reach, 0.0), float(value[0, 0]) + reach
    known = Resolution(0, last + 1, 0, 0, last, *limits)
    return Spectrum(structure, value[0], error[0], np.ones((1, 1)), (band,), (known,))


def exact_spectrum(
    factor: Float[np.ndarray, "n n"], structure: Structure, symmetries: tuple[str, ...] = ()
) -> Spectrum:
    """The spectrum of a factor known without error; bands are its distinct eigenvalues."""
    decomposed = [
        (part, image, *descending_eigh(part.restrict(factor)))
        for part in sectors(structure, symmetries)
        for image in part.images
    ]
    values = np.concatenate([d[2] for d in decomposed])
    columns = np.hstack([image @ vectors for _, image, _, vectors in decomposed])
    order = np.argsort(-values, kind="stable")
    values, columns = values[order], columns[:, order]
    values = np.where(numerical_range(values, float(values[0])), values, 0.0)
    breaks = np.flatnonzero(values[:-1] - values[1:] > DEGENERATE * values[0]) + 1
    edges = np.concatenate([[0], breaks, [len(values)]]) * structure.copies
    bands = tuple(
        Band(int(a), int(b) - 1, 1.0, 0.0, True, bool(values[a // structure.copies] == 0), True)
        for a, b in itertools.pairwise(edges)
    )
    known = tuple(
        Resolution(b.first, b.width, 0, b.first, b.last, value, value, b.null)
        for b in bands
        for value in [float(values[b.first // structure.copies])]
    )
    return Spectrum(structure, values, np.zeros_like(values), _orient(columns), bands, known)


def _orient(vectors: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Fix the sign of each column: its entry of largest magnitude is positive."""
    # Rounding would decide between entries of equal magnitude; a slight preference for early rows
    # makes the choice the same on every machine.
    preference = np.abs(vectors) * (1 - 1e-6 * np.arange(len(vectors)) / len(vectors))[:, None]
    peak = np.take_along_axis(vectors, preference.argmax(axis=0)[None], axis=0)
    return vectors * np.where(peak < 0, -1.0, 1.0)
