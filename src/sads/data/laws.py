"""Laws of data with a known optimal noise prediction, in closed form.

With x_t = sqrt(a) x_0 + sqrt(s) eps, where a is the power of the signal and s that of the noise
(abar and 1 - abar if variance is preserved), the least-squares prediction is

    eps*(x_t) = (x_t - sqrt(a) E[x_0 | x_t]) / sqrt(s).

*Normal*, N(m, C) with C = B diag(v) B^T + r (I - B B^T), B of k orthonormal columns:

    eps*(x) = sqrt(s) (a C + s I)^-1 (x - sqrt(a) m),

which needs k products with x and no D x D matrix. Rank-one data has B = v, one variance D, r = 0.

*Mixture of normals*: the mean of its components' eps*, weighted by their posterior probabilities.

*Sphere* of radius R in three orthonormal columns V: with p = V^T x the posterior of the point on
the sphere is von Mises and Fisher's with concentration k = sqrt(a) R |p| / s, so

    E[x_0 | x] = R (coth k - 1/k) V p / |p|.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..errors import InputError

Rows = Float[np.ndarray, "N D"]  # samples, each flattened to D entries
Powers = Float[np.ndarray, " N"]  # of the signal or of the noise, one for each sample


class Source(ABC):
    """A source of clean samples, flattened to D entries."""

    @property
    @abstractmethod
    def size(self) -> int:
        """D, the number of entries of a sample."""

    @property
    @abstractmethod
    def support(self) -> Float[np.ndarray, "D k"] | None:
        """Orthonormal columns that span the samples; None if they span the whole space."""

    @abstractmethod
    def draw(self, count: int, generator: np.random.Generator) -> Float[np.ndarray, "{count} D"]:
        """Clean samples."""


class Law(Source):
    """A distribution of samples with a known optimum."""

    @abstractmethod
    def optimal_noise(self, x: Rows, signal: Powers, noise: Powers | None = None) -> Rows:
        """eps* at noisy samples.

        Args:
            x: the samples.
            signal: the power of the signal in each, a.
            noise: the power of the noise in each, s; 1 - a unless given.
        """


@dataclass(frozen=True, eq=False)
class Normal(Law):
    """N(mean, basis diag(variances) basis^T + rest (I - basis basis^T)).

    Attributes:
        mean: m.
        basis: B, orthonormal columns.
        variances: v, along them.
        rest: r, the variance of everything else.
    """

    mean: Float[np.ndarray, " D"]
    basis: Float[np.ndarray, "D k"]
    variances: Float[np.ndarray, " k"]
    rest: float

    def __post_init__(self) -> None:
        if self.rest < 0 or (self.variances < 0).any():
            raise InputError("the variances of a normal law are not negative")
        columns = self.basis.shape[1]
        if not np.allclose(self.basis.T @ self.basis, np.eye(columns), atol=1e-6):
            raise InputError("the basis of a normal law has orthonormal columns")

    @classmethod
    def white(cls, size: int) -> "Normal":
        """N(0, I)."""
        return cls(np.zeros(size), np.zeros((size, 0)), np.zeros(0), 1.0)

    @classmethod
    def rank_one(cls, direction: Float[np.ndarray, " D"]) -> "Normal":
        """sqrt(D) g v for a unit vector v."""
        size = len(direction)
        return cls(np.zeros(size), direction[:, None], np.array([float(size)]), 0.0)

    @classmethod
    def of_moment(cls, moment: Float[np.ndarray, "D D"]) -> "Normal":
        """N(0, C) for a second moment C, on its numerical range."""
        values, vectors = np.linalg.eigh(moment)
        kept = values > values[-1] * len(values) * np.finfo(float).eps
        return cls(np.zeros(len(moment)), vectors[:, kept], values[kept], 0.0)

    @property
    def size(self) -> int:
        return len(self.mean)

    @property
    def support(self) -> Float[np.ndarray, "D k"] | None:
        if self.rest > 0 or self.basis.shape[1] == self.size:
            return None
        if not self.mean.any():
            return self.basis
        return np.linalg.qr(np.column_stack([self.basis, self.mean]))[0]

    def draw(self, count: int, generator: np.random.Generator) -> Float[np.ndarray, "{count} D"]:
        inside = generator.standard_normal((count, len(self.variances)))
        if self.rest == 0:
            return self.mean + inside * np.sqrt(self.variances) @ self.basis.T
        white = generator.standard_normal((count, self.size)) * math.sqrt(self.rest)
        extra = inside * np.sqrt(self.variances) - white @ self.basis
        return self.mean + white + extra @ self.basis.T

    def optimal_noise(self, x: Rows, signal: Powers, noise: Powers | None = None) -> Rows:
        a, s = (power[:, None] for power in powers(signal, noise))
        centred = x - np.sqrt(a) * self.mean
        along, across = 1 / (a * self.variances + s), 1 / (a * self.rest + s)
        inside = (centred @ self.basis) * (along - across)
        return np.sqrt(s) * (across * centred + inside @ self.basis.T)

    def log_density(
        self, x: Rows, signal: Powers, noise: Powers | None = None
    ) -> Float[np.ndarray, " N"]:
        """The log-density of noisy samples, without the constant -D/2 log(2 pi)."""
        a, s = (power[:, None] for power in powers(signal, noise))
        centred = x - np.sqrt(a) * self.mean
        spread, rest = a * self.variances + s, a * self.rest + s
        inside = (centred @ self.basis) ** 2
        energy = (centred**2).sum(1) / rest[:, 0] + (inside * (1 / spread - 1 / rest)).sum(1)
        left = self.size - self.basis.shape[1]
        return -(energy + np.log(spread).sum(1) + left * np.log(rest[:, 0])) / 2


@dataclass(frozen=True, eq=False)
class Mixture(Law):
    """A mixture of normal laws.

    Attributes:
        weights: probabilities of the components, summing to one.
        components: the normal laws.
    """

    weights: Float[np.ndarray, " m"]
    components: tuple[Normal, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.components) or not len(self.weights):
            raise InputError("a mixture has one weight for each of its components")
        if (self.weights < 0).any() or not math.isclose(float(self.weights.sum()), 1.0):
            raise InputError("the weights of a mixture are not negative and sum to one")

    @property
    def size(self) -> int:
        return self.components[0].size

    @property
    def support(self) -> Float[np.ndarray, "D k"] | None:
        parts = [component.support for component in self.components]
        if any(part is None for part in parts):
            return None
        vectors, values, _ = np.linalg.svd(np.column_stack([p for p in parts if p is not None]))
        rank = int((values > 1e-9 * values[0]).sum())
        return None if rank == self.size else vectors[:, :rank]

    def draw(self, count: int, generator: np.random.Generator) -> Float[np.ndarray, "{count} D"]:
        which = generator.choice(len(self.weights), size=count, p=self.weights)
        samples = np.empty((count, self.size))
        for number, component in enumerate(self.components):
            own = which == number
            samples[own] = component.draw(int(own.sum()), generator)
        return samples

    def optimal_noise(self, x: Rows, signal: Powers, noise: Powers | None = None) -> Rows:
        with np.errstate(divide="ignore"):  # a component of weight zero has posterior zero
            prior = np.log(self.weights)
        logs = prior + np.stack([c.log_density(x, signal, noise) for c in self.components], axis=1)
        posterior = np.exp(logs - logs.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        parts = [
            share[:, None] * component.optimal_noise(x, signal, noise)
            for share, component in zip(posterior.T, self.components, strict=True)
        ]
        return np.sum(parts, axis=0)


@dataclass(frozen=True, eq=False)
class Sphere(Law):
    """Uniform on the sphere of radius sqrt(D) in the span of three orthonormal columns."""

    directions: Float[np.ndarray, "D 3"]

    @property
    def size(self) -> int:
        return len(self.directions)

    @property
    def support(self) -> Float[np.ndarray, "D 3"]:
        return self.directions

    @property
    def radius(self) -> float:
        return math.sqrt(self.size)

    def draw(self, count: int, generator: np.random.Generator) -> Float[np.ndarray, "{count} D"]:
        z = generator.standard_normal((count, 3))
        return self.radius * z / np.linalg.norm(z, axis=1, keepdims=True) @ self.directions.T

    def optimal_noise(self, x: Rows, signal: Powers, noise: Powers | None = None) -> Rows:
        a, s = powers(signal, noise)
        inside = x @ self.directions
        length = np.maximum(np.linalg.norm(inside, axis=1), np.finfo(float).tiny)
        shrink = langevin(np.sqrt(a) * self.radius * length / s)
        clean = (self.radius * shrink / length)[:, None] * inside @ self.directions.T
        return (x - np.sqrt(a)[:, None] * clean) / np.sqrt(s)[:, None]


def powers(signal: Powers, noise: Powers | None) -> tuple[Powers, Powers]:
    """The powers of signal and noise; by default the noise has one minus that of the signal."""
    return signal, 1 - signal if noise is None else noise


def langevin(k: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """The function coth k - 1/k, without the cancellation near zero.

    >>> langevin(np.array([0.0, 1e-3, 1.0, 1e3])).round(6).tolist()
    [0.0, 0.000333, 0.313035, 0.999]
    """
    small = k < 1e-2
    safe = np.where(small, 1.0, k)
    return np.where(small, k / 3 - k**3 / 45, 1 / np.tanh(safe) - 1 / safe)
