"""Sets of directions along which residuals, drifts and noise are measured separately.

A set maps samples (N, D) to coefficients (N, m), along orthonormal directions, and puts every
coefficient into one of k groups. The value of a group is a *sum over its coefficients*,

    <a, b>_g = sum_{i in g} (u_i^T a)(u_i^T b),

the energy of a in the group's subspace where a = b. Transforms stand for their D columns, so that
no matrix of size D x D is needed at 3x256x256.

| set             | coefficients                       | groups                               |
|-----------------|------------------------------------|--------------------------------------|
| `Columns`       | given columns                      | one each, or as given                |
| `Eigenvectors`  | a geometry's eigenvectors          | one each                             |
| `Cosines`       | DCT of every channel               | one each, or radial bands            |
| `ChannelMeans`  | the constant image of each channel | one each                             |
| `MeansAndBands` | DCT of every channel               | means one each, then radial bands    |
| `Entries`       | the entries themselves             | one each                             |
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.fft import dctn

from ..errors import InputError
from .spectrum import Spectrum
from .structure import Compressed


@dataclass(frozen=True, eq=False)
class DirectionSet(ABC):
    """Orthonormal directions in groups.

    Attributes:
        shape: shape of one sample.
    """

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """D, the number of entries of a sample."""
        return math.prod(self.shape)

    @abstractmethod
    def coefficients(self, x: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N m"]:
        """u_i^T x for all directions."""

    @property
    def groups(self) -> Int[np.ndarray, " m"]:
        """The group of each direction, from 0 on without gaps; one each by default."""
        return np.arange(self.size)

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each group; its number by default."""
        return tuple(str(i) for i in range(len(self.widths)))

    @cached_property
    def widths(self) -> Int[np.ndarray, " k"]:
        """The number of directions in each group."""
        return np.bincount(self.groups)

    def products(
        self, a: Float[np.ndarray, "N D"], b: Float[np.ndarray, "N D"]
    ) -> Float[np.ndarray, "N k"]:
        """<a, b> in each group, sample by sample."""
        own = self.coefficients(a)
        return self.grouped(own * (own if a is b else self.coefficients(b)))

    def grouped(self, values: Float[np.ndarray, "N m"]) -> Float[np.ndarray, "N k"]:
        """Sums over the directions of each group."""
        if len(self.widths) == values.shape[1]:
            return values[:, np.argsort(self.groups)]
        order = np.argsort(self.groups, kind="stable")
        starts = np.concatenate([[0], self.widths.cumsum()[:-1]])
        return np.add.reduceat(values[:, order], starts, axis=1)


@dataclass(frozen=True, eq=False)
class Columns(DirectionSet):
    """Directions given as orthonormal columns.

    Attributes:
        columns: the directions.
        group: the group of each column; one each where None.
        names: the names of the groups; their numbers where None.
    """

    columns: Float[np.ndarray, "D m"]
    group: Int[np.ndarray, " m"] | None = None
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        expected = self.size
        if self.columns.ndim != 2 or len(self.columns) != expected:
            raise InputError(
                f"directions are columns of {expected} entries, got an array of shape "
                f"{self.columns.shape}"
            )
        if not np.isfinite(self.columns).all():
            raise InputError("directions have NaN or infinite entries")
        gram = self.columns.T @ self.columns
        if not np.allclose(gram, np.eye(len(gram)), atol=1e-4):
            raise InputError(
                "directions are orthonormal columns: orthogonalise them first (numpy.linalg.qr)"
            )

    def coefficients(self, x: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N m"]:
        return x @ self.columns

    @property
    def groups(self) -> Int[np.ndarray, " m"]:
        return np.arange(self.columns.shape[1]) if self.group is None else self.group

    @property
    def labels(self) -> tuple[str, ...]:
        return self.names or super().labels


@dataclass(frozen=True, eq=False)
class Eigenvectors(DirectionSet):
    """All known eigenvectors of a geometry, largest eigenvalue first.

    Attributes:
        spectrum: the spectrum of the geometry.
        group: the group of each eigenvector; one each where None.
        names: the names of the groups; their numbers where None.
    """

    spectrum: Spectrum
    group: Int[np.ndarray, " m"] | None = None
    names: tuple[str, ...] | None = None

    def coefficients(self, x: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N m"]:
        structure = self.spectrum.structure
        if not isinstance(structure, Compressed):
            return x @ self.spectrum.eigenvectors
        # Copy by copy, since the eigenvectors themselves may be gigabytes.
        parts = structure.parts(x) @ self.spectrum.factor_vectors
        return parts.swapaxes(1, 2).reshape(len(x), -1)

    @property
    def groups(self) -> Int[np.ndarray, " m"]:
        return np.arange(self.spectrum.structure.directions) if self.group is None else self.group

    @property
    def labels(self) -> tuple[str, ...]:
        return self.names or super().labels


@dataclass(frozen=True, eq=False)
class Cosines(DirectionSet):
    """The DCT of every channel.

    Attributes:
        bands: number of radial bands of frequency; None for single coefficients.
    """

    bands: int | None = None

    def __post_init__(self) -> None:
        if self.bands is not None and not 1 <= self.bands <= math.prod(self._spatial):
            most = math.prod(self._spatial)
            raise InputError(f"the number of bands of frequency is 1 to {most}, got {self.bands}")

    @property
    def _spatial(self) -> tuple[int, ...]:
        return self.shape[1:] if len(self.shape) > 1 else self.shape

    def coefficients(self, x: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N m"]:
        images = x.reshape(len(x), *self.shape)
        axes = tuple(range(images.ndim - len(self._spatial), images.ndim))
        return np.asarray(dctn(images, axes=axes, norm="ortho")).reshape(len(x), -1)

    @property
    def groups(self) -> Int[np.ndarray, " m"]:
        return self._groups

    @cached_property
    def _groups(self) -> Int[np.ndarray, " m"]:
        if self.bands is None:
            return np.arange(self.size)
        channels = self.size // math.prod(self._spatial)
        return np.tile(radial_bands(self._spatial, self.bands).flatten(), channels)

    @property
    def labels(self) -> tuple[str, ...]:
        if self.bands is None:
            places = np.indices(self.shape).reshape(len(self.shape), -1).T
            return tuple(",".join(map(str, place)) for place in places)
        edges = band_edges(self._spatial, self.bands)
        return tuple(
            f"frequency {low:.2f}-{high:.2f}" if high else "the mean" for low, high in edges
        )


@dataclass(frozen=True, eq=False)
class ChannelMeans(DirectionSet):
    """The constant image of each channel, of unit length."""

    def coefficients(self, x: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N m"]:
        channels = self.shape[0] if len(self.shape) > 1 else 1
        flat = x.reshape(len(x), channels, -1)
        return flat.sum(axis=2) / math.sqrt(flat.shape[2])

    @property
    def groups(self) -> Int[np.ndarray, " m"]:
        return np.arange(self.shape[0] if len(self.shape) > 1 else 1)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"mean of channel {c}" for c in self.groups)


@dataclass(frozen=True, eq=False)
class MeansAndBands(Cosines):
    """The mean of each channel, and radial bands of the other frequencies of all channels.

    Attributes:
        bands: number of bands besides the means.
    """

    bands: int = 8

    def __post_init__(self) -> None:
        if self.bands < 1:
            raise InputError(f"the number of bands of frequency is at least 1, got {self.bands}")

    @cached_property
    def _groups(self) -> Int[np.ndarray, " m"]:
        channels = self.size // math.prod(self._spatial)
        band = radial_bands(self._spatial, self.bands + 1).flatten()
        groups = np.tile(band + channels - 1, (channels, 1))
        groups[:, 0] = np.arange(channels)
        return groups.flatten()

    @property
    def labels(self) -> tuple[str, ...]:
        channels = self.size // math.prod(self._spatial)
        edges = band_edges(self._spatial, self.bands + 1)[1:]
        means = tuple(f"mean of channel {c}" for c in range(channels))
        return means + tuple(f"frequency {low:.2f}-{high:.2f}" for low, high in edges)


@dataclass(frozen=True, eq=False)
class Entries(DirectionSet):
    """The entries of a sample themselves."""

    def coefficients(self, x: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N m"]:
        return x

    @property
    def labels(self) -> tuple[str, ...]:
        return _places(self.shape)


def _places(shape: tuple[int, ...]) -> tuple[str, ...]:
    """The indices of every entry of a sample: `0,2,1`."""
    places = np.indices(shape).reshape(len(shape), -1).T
    return tuple(",".join(map(str, place)) for place in places)


def frequencies(spatial: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """Length of each frequency, in units of the largest of its axis."""
    axes = np.meshgrid(*[np.arange(n) / n for n in spatial], indexing="ij")
    return np.sqrt(sum(axis**2 for axis in axes))


def radial_bands(spatial: tuple[int, ...], bands: int) -> Int[np.ndarray, "..."]:
    """The band of each frequency: the constant alone is the first, the others in equal steps.

    >>> radial_bands((4, 4), 3).tolist()
    [[0, 1, 1, 2], [1, 1, 2, 2], [1, 2, 2, 2], [2, 2, 2, 2]]
    """
    length = frequencies(spatial)
    if bands == 1:
        return np.zeros(spatial, dtype=int)
    steps = np.ceil(length / length.max() * (bands - 1) - 1e-9).astype(int)
    numbers = np.unique(steps, return_inverse=True)[1]  # numbered without empty bands
    return numbers.reshape(spatial)


def band_edges(spatial: tuple[int, ...], bands: int) -> list[tuple[float, float]]:
    """The smallest and the largest frequency of each radial band."""
    length, band = frequencies(spatial), radial_bands(spatial, bands)
    members = [length[band == number] for number in range(band.max() + 1)]
    return [(float(own.min()), float(own.max())) for own in members]
