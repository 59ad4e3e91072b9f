"""Independent estimates of a matrix whose eigenvectors are known."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sads.directions import FOLDS, Resolution, Spectrum, Structure, sampled_spectrum
from sads.directions.symmetry import sectors


def wishart_folds(
    factor: np.ndarray, per_fold: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """FOLDS sample second moments of N(0, factor), and their counts."""
    values, vectors = np.linalg.eigh(factor)
    root = vectors * np.sqrt(np.maximum(values, 0))
    samples = rng.standard_normal((FOLDS, per_fold, len(factor))) @ root.T
    return samples.transpose(0, 2, 1) @ samples / per_fold, np.full(FOLDS, per_fold)


def random_basis(size: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((size, size)))[0]


@dataclass(frozen=True)
class Truth:
    """A factor with known levels in the sectors of a symmetry."""

    structure: Structure
    names: tuple[str, ...]
    factor: np.ndarray
    values: tuple[np.ndarray, ...]  # of each sector, descending
    bases: tuple[np.ndarray, ...]  # eigenvectors of each sector, in rows of the factor
    every: np.ndarray  # all eigenvalues

    @classmethod
    def planted(
        cls,
        values: np.ndarray,
        structure: Structure,
        names: tuple[str, ...],
        rng: np.random.Generator,
    ) -> "Truth":
        """Eigenvalues dealt at random to the sectors, with random eigenvectors."""
        dealt, factor = list(rng.permutation(values)), np.zeros((structure.rows,) * 2)
        found, bases = [], []
        for part in sectors(structure, names):
            own = np.sort([dealt.pop() for _ in range(part.size)])[::-1]
            turn = random_basis(part.size, rng)
            for image in part.images:
                whole = np.asarray(image @ turn)
                factor += whole * own @ whole.T
            found.append(own)
            bases.append(np.asarray(part.images[0] @ turn))
        every = np.concatenate(
            [
                np.tile(own, part.multiplicity)
                for own, part in zip(found, sectors(structure, names), strict=True)
            ]
        )
        return cls(structure, names, factor, tuple(found), tuple(bases), every)

    def sample(self, per_fold: int, rng: np.random.Generator) -> Spectrum:
        """The spectrum from so many Gaussian samples in each fold."""
        folds, counts = wishart_folds(self.factor, per_fold, rng)
        return sampled_spectrum(folds, counts, self.structure, self.names)

    def levels(self, spectrum: Spectrum) -> Iterator[tuple[Resolution, int, int]]:
        """Each level of a spectrum outside the null space, its sector and its place there."""
        seen = np.zeros(len(self.bases), dtype=int)
        for level in spectrum.resolution:
            if not level.null:
                vector = spectrum.factor_vectors[:, level.index // self.structure.copies]
                sector = int(np.argmax([np.sum((b.T @ vector) ** 2) for b in self.bases]))
                yield level, sector, int(seen[sector])
                seen[sector] += 1

    def energy_outside(
        self, spectrum: Spectrum, level: Resolution, sector: int, place: int
    ) -> float:
        """The energy of an estimated direction outside the true levels of its window."""
        vector = spectrum.factor_vectors[:, level.index // self.structure.copies]
        energies = (self.bases[sector].T @ vector) ** 2
        inside = energies[max(place - level.window, 0) : place + level.window + 1]
        return float(1 - inside.sum())

    def indices(self, sector: int, place: int) -> tuple[int, int]:
        """The first and the last index of a true level among all."""
        value, copies = self.values[sector][place], self.structure.copies
        equal = np.isclose(self.every, value, rtol=1e-12, atol=0)
        first = int(np.sum((self.every > value) & ~equal))
        return first * copies, (first + int(equal.sum())) * copies - 1
