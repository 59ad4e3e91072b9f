"""The geometry of an architecture: an immutable estimate of G with its error bars.

    G = E_{t, theta, x} [F F^T],      F = -eps_theta(x, t) / sqrt(1 - abar_t)      (definition 2)

G is kept as a small factor and a structure; see `directions.structure`.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from ..devices import memory_errors_explained
from ..directions import Spectrum, Structure, exact_spectrum, sampled_spectrum
from ..directions.folds import EVERY_OTHER
from ..directions.structure import Compressed
from ..directions.symmetry import average, sectors, surviving
from ..directions.whitening import halves_error
from ..errors import ArtefactError
from ..foundation.rendering import Shown
from ..inspection.subspace_readout import Compressed as CompressedReadOut
from ..inspection.subspaces import Adaptive, LowFrequencies
from ..storage.files import writing
from .artefact import read_state, write_basis, write_state
from .plan import Plan
from .running_sums import State
from .spectra import KEPT_FROM, Kept, read_kept, write_spectrum

FOLDS_KEPT = 1024  # rows of factors whose folds, up to 100 MB, are kept once computed


@dataclass(frozen=True, eq=False)
class Geometry(Shown):
    """An estimate of the average geometry.

    Attributes:
        plan: how it was made.
        state: sums over networks.
        kept: its spectrum and whitened error, if they were stored with it.

    >>> import sads
    >>> geometry = sads.estimate_geometry("cnn", shape="1x4x4", networks=24)
    >>> geometry.shape, geometry.networks, geometry.matrix().shape
    ((1, 4, 4), 24, (16, 16))
    """

    plan: Plan
    state: State
    kept: Kept | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return self.plan.shape

    @property
    def structure(self) -> Structure:
        """How G follows from the factor."""
        return self.plan.readout.structure

    @property
    def networks(self) -> int:
        """The number of networks behind the estimate; 0 for a closed form."""
        return 0 if self.exact else self.state.networks

    @property
    def exact(self) -> bool:
        """Whether G is a closed form."""
        return self.plan.exact

    def part(self, which: Int[np.ndarray, " k"]) -> Float[np.ndarray, "n n"]:
        """The factor from some of the folds, not averaged over symmetries."""
        if not self.state.counts[which].all():
            raise ArtefactError(
                f"{self.plan.network} has only {self.networks} networks so far, too few for a "
                "geometry: let its run go on"
            )
        return self.plan.scale * self.plan.readout.factor(self.state.mean(which))

    def fold(self, number: int) -> Float[np.ndarray, "n n"]:
        """The factor from one of the folds, not averaged over symmetries; not to be written to."""
        if self.structure.rows > FOLDS_KEPT:
            return self.part(np.array([number]))
        if number not in self._folds:
            self._folds[number] = self.part(np.array([number]))
            self._folds[number].setflags(write=False)
        return self._folds[number]

    @cached_property
    def _folds(self) -> dict[int, Float[np.ndarray, "n n"]]:
        """The folds of a small geometry that have been computed; comparisons need them often."""
        return {}

    def halves(self) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"]]:
        """The factor from the even and from the odd folds."""
        return self.part(EVERY_OTHER[0]), self.part(EVERY_OTHER[1])

    @property
    def each_fold(self) -> "EachFold":
        """Independent estimates of the factor, one at a time; can be iterated repeatedly."""
        return EachFold(self)

    @property
    def folds(self) -> Float[np.ndarray, "K n n"]:
        """All independent estimates of the factor."""
        return np.stack(list(self.each_fold))

    @cached_property
    def symmetries(self) -> tuple[str, ...]:
        """Declared symmetries that the estimate does not contradict."""
        if self.exact or not self.plan.symmetries:
            return self.plan.symmetries
        return surviving(self.each_fold, self.structure, self.plan.symmetries)

    @cached_property
    def factor(self) -> Float[np.ndarray, "n n"]:
        """The estimate of the small factor, averaged over the symmetries."""
        raw = self.part(np.arange(len(self.state.counts)))
        return average(raw, self.structure, self.symmetries)

    @property
    def sampled_all_directions(self) -> bool:
        """Whether there are enough networks to see every direction."""
        return self.networks * self.plan.readout.rank >= self.structure.rows

    @cached_property
    def whitened_error(self) -> float | None:
        """Whitened error of the estimate; None while there are too few networks."""
        if self.exact:
            return 0.0
        if not self.sampled_all_directions:
            return None
        if self.kept is not None and self.kept.whitened_error is not None:
            return self.kept.whitened_error
        return halves_error(*self.halves(), sectors(self.structure, self.symmetries))

    @property
    def trace(self) -> float:
        """The trace of G over the whole space, also if the factor is that of a subspace."""
        if not self.compressed:
            return float(np.trace(self.factor)) * self.structure.copies
        return self._traces(np.arange(len(self.state.counts)))[1]

    def fold_trace(self, fold: int) -> float:
        """The trace of G over the whole space from one of the folds."""
        return self._traces(np.array([fold]))[1]

    @property
    def compressed(self) -> bool:
        """Whether the factor is that of a subspace."""
        return isinstance(self.structure, Compressed)

    @property
    def subspace(self) -> LowFrequencies | Adaptive | None:
        """Its subspace, in which another geometry can be estimated; None for the whole space."""
        readout = self.plan.readout
        if not isinstance(readout, CompressedReadOut):
            return None
        own = readout.subspace
        return own.of_another() if isinstance(own, Adaptive) else own

    @cached_property
    def inside(self) -> tuple[float, float]:
        """The share of tr G in the subspace, and its standard error; 1 for the whole space."""
        if not self.compressed:
            return 1.0, 0.0
        kept, whole = self._traces(np.arange(len(self.state.counts)))
        each = np.array([self._traces(np.array([k])) for k in range(len(self.state.counts))])
        # Delta method for the ratio of two means over networks.
        weights, share = self.state.counts / self.state.counts.sum(), kept / whole
        residuals = weights * (each[:, 0] - share * each[:, 1]) / whole
        folds = len(residuals)
        return share, float(np.sqrt(np.square(residuals).sum() * folds / (folds - 1)))

    def _traces(self, which: Int[np.ndarray, " k"]) -> tuple[float, float]:
        """The trace of G inside the subspace and in all, from some of the folds."""
        readout, moment = self.plan.readout, self.state.mean(which)
        scale = self.plan.scale * self.structure.copies
        return scale * float(np.trace(readout.factor(moment))), scale * readout.trace(moment)

    def matvec(self, vectors: Float[np.ndarray, "*batch D"]) -> Float[np.ndarray, "*batch D"]:
        """G v, for one or many flattened vectors, without forming G.

        In a subspace with the projection P on it, this is P G P v.
        """
        return self.structure.apply(self.factor, np.asarray(vectors, dtype=float))

    def matrix(self) -> Float[np.ndarray, "D D"]:
        """The whole of G; in a subspace with the projection P on it, P G P."""
        return self.structure.expand(self.factor)

    @cached_property
    def _spectrum(self) -> Spectrum:
        if self.kept is not None:
            return self.kept.spectrum
        if self.exact:
            return exact_spectrum(self.factor, self.structure, self.symmetries)
        with memory_errors_explained(f"the spectrum of {self.plan.network}", "free some memory"):
            return sampled_spectrum(
                self.each_fold, self.state.counts, self.structure, self.symmetries
            )

    def spectrum(self) -> Spectrum:
        """Eigenvalues, eigenvectors, their resolution and bands; computed once."""
        return self._spectrum

    def at(self, state: State) -> "Geometry":
        """The same geometry with another state of equal sums; computed values are kept."""
        other = replace(self, state=state)
        vars(other).update({k: v for k, v in vars(self).items() if k not in vars(other)})
        return other

    def save(self, directory: str | Path) -> None:
        """Write `geometry.safetensors` into a directory, atomically."""
        with writing(Path(directory)):
            write_basis(Path(directory), self.plan)
            write_state(Path(directory), self.plan, self.state)

    def __repr__(self) -> str:
        error = (
            "exact" if self.exact else f"whitened error {self.whitened_error or float('nan'):.2g}"
        )
        shape = "x".join(map(str, self.shape))
        return f"Geometry({self.plan.network}, {shape}, {self.networks} networks, {error})"


@dataclass(frozen=True)
class EachFold:
    """The independent estimates of a geometry's factor.

    Of large ones two are in memory: the next is made while one is used.
    """

    geometry: Geometry

    def __iter__(self) -> Iterator[Float[np.ndarray, "n n"]]:
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(self.geometry.fold, 0)
            for number in range(1, len(self.geometry.state.counts)):
                ready, coming = coming, pool.submit(self.geometry.fold, number)
                yield ready.result()
            yield coming.result()


def load_geometry(directory: str | Path) -> Geometry:
    """Load a geometry from a directory that an estimate or `Geometry.save` wrote.

    Raises:
        ArtefactError: if there is none, or it is truncated, foreign or corrupt.

    >>> import sads, tempfile
    >>> geometry = sads.estimate_geometry("cnn", shape="1x4x4", networks=24)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     geometry.save(directory)
    ...     sads.load_geometry(directory).networks
    24
    """
    plan, state = read_state(Path(directory))
    large = plan.readout.structure.rows >= KEPT_FROM
    kept = read_kept(Path(directory), plan, state) if large else None
    return Geometry(plan, state, kept)


def keep_spectrum(geometry: Geometry, directory: str | Path) -> None:
    """Keep the spectrum of a large geometry beside it, for the next time that it is loaded.

    The spectrum of a small geometry is faster to compute than to read, so it is not kept. Nothing
    happens if the directory cannot be written to.

    Args:
        geometry: a geometry; its spectrum is computed if it is not known yet.
        directory: where the geometry is stored.
    """
    large = geometry.structure.rows >= KEPT_FROM and not geometry.exact
    if large and geometry.kept is None:
        spectrum, error = geometry.spectrum(), geometry.whitened_error
        write_spectrum(Path(directory), geometry.plan, geometry.state, spectrum, error)


def exact_geometry(plan: Plan, factor: Float[np.ndarray, "n n"], seconds: float) -> Geometry:
    """A geometry without error, from the factor of a closed form."""
    one = np.ones(1, dtype=np.int64)
    return Geometry(plan, State.of(factor[None], one, seconds=seconds, finished=True))
