"""Probes: where the networks are looked at, the distribution P of definition 2.

A probe draws one input x for each network, given its timestep. A new one is a class of this module
that is named in `PROBES` at its end; it says itself how it is spelled in the grammar.
"""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from .errors import InputError
from .path import DiffusionPath

Shape = tuple[int, ...]
Rng = np.random.Generator
Steps = Int[np.ndarray, " N"]
Inputs = Float[Tensor, "N ..."]
Table = Float[np.ndarray, " T"]

LARGEST_STD = 1e9  # the squares of larger inputs leave float32


class Probe(ABC):
    """A distribution of inputs.

    Attributes:
        kind: its name in the grammar.
        spelling: how it is written there, with what follows the colon.
        takes: what follows the colon: `nothing`, `a number`, `a point` or `data`.
        shift_free: whether any permutation of positions leaves it the same, so that it keeps every
            symmetry of the architecture.
    """

    kind: ClassVar[str]
    spelling: ClassVar[str]
    takes: ClassVar[str]
    shift_free: ClassVar[bool] = False

    @abstractmethod
    def describe(self) -> str:
        """Its name in the grammar; equal names mean equal distributions."""

    @abstractmethod
    def draw(self, t: Steps, shape: Shape, schedule: DiffusionPath, rng: Rng) -> Inputs:
        """Draw one input of this shape for each timestep in t."""

    @abstractmethod
    def energy(self, size: int, schedule: DiffusionPath) -> Table:
        """E|x|^2 at each timestep, for samples of `size` entries."""

    @property
    def isotropic_variance(self) -> float | None:
        """The variance v if E[x x^T] = v I with v > 0 at every timestep, else None."""
        return None


@dataclass(frozen=True)
class Zero(Probe):
    """x = 0, the paper's default.

    >>> import sads
    >>> sads.estimate_geometry("cnn", shape="1x4x4", probe=sads.Zero(), networks=24).plan.probe
    'zero'
    """

    kind = "zero"
    spelling = "zero"
    takes = "nothing"
    shift_free = True

    def describe(self) -> str:
        return self.kind

    def draw(self, t: Steps, shape: Shape, schedule: DiffusionPath, rng: Rng) -> Inputs:
        return torch.zeros(len(t), *shape)

    def energy(self, size: int, schedule: DiffusionPath) -> Table:
        return np.zeros(schedule.steps)


@dataclass(frozen=True)
class Gaussian(Probe):
    """x drawn from N(0, std^2 I), afresh for each network.

    >>> import sads
    >>> probe = sads.Gaussian(1.0)
    >>> sads.estimate_geometry("cnn", shape="1x4x4", probe=probe, networks=24).plan.probe
    'gaussian:1'
    """

    kind = "gaussian"
    spelling = "gaussian:STD"
    takes = "a number"
    shift_free = True
    std: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.std <= LARGEST_STD:
            raise InputError(
                "a Gaussian probe needs a positive standard deviation of at most "
                f"{LARGEST_STD:g}, got {self.std}"
            )

    def describe(self) -> str:
        return f"{self.kind}:{self.std:g}"

    def draw(self, t: Steps, shape: Shape, schedule: DiffusionPath, rng: Rng) -> Inputs:
        noise = rng.standard_normal((len(t), *shape), dtype=np.float32)
        return torch.from_numpy(noise * np.float32(self.std))

    def energy(self, size: int, schedule: DiffusionPath) -> Table:
        return np.full(schedule.steps, size * self.std**2)

    @property
    def isotropic_variance(self) -> float:
        return self.std**2


@dataclass(frozen=True, eq=False)
class Point(Probe):
    """One fixed x for all networks (appendix F).

    >>> import numpy as np, sads
    >>> probe = sads.Point(np.ones((1, 4, 4)))
    >>> sads.estimate_geometry("cnn", shape="1x4x4", probe=probe, networks=24).plan.probe
    'point:0529cc4686c8de8f'
    """

    kind = "point"
    spelling = "point:FILE.npy"
    takes = "a point"
    x: Float[np.ndarray, "..."]

    def __post_init__(self) -> None:
        if not np.isfinite(self.x).all():
            raise InputError("a point probe needs finite values, got NaN or infinity")

    def describe(self) -> str:
        return f"{self.kind}:{_digest(self.x)}"

    def draw(self, t: Steps, shape: Shape, schedule: DiffusionPath, rng: Rng) -> Inputs:
        if self.x.shape != shape:
            raise InputError(
                f"the probe's point has shape {self.x.shape}, the network takes {shape}"
            )
        return torch.from_numpy(self.x.astype(np.float32)).expand(len(t), *shape)

    def energy(self, size: int, schedule: DiffusionPath) -> Table:
        return np.full(schedule.steps, float(np.sum(np.square(self.x, dtype=float))))


@dataclass(frozen=True, eq=False)
class Forward(Probe):
    """The forward process of some images: x_t = a_t x + b_t eps on the path of the family.

    Args:
        images: shape (M, *shape); each network gets one of them at random.

    >>> import numpy as np, sads
    >>> probe = sads.Forward(np.ones((2, 1, 4, 4), dtype=np.float32))
    >>> sads.estimate_geometry("cnn", shape="1x4x4", probe=probe, networks=24).plan.probe
    'forward:f9ab1546a317ee35'
    """

    kind = "forward"
    spelling = "forward:DATA"
    takes = "data"
    images: Float[np.ndarray, "M ..."]

    def __post_init__(self) -> None:
        if not len(self.images) or not np.isfinite(self.images).all():
            raise InputError("a forward probe needs at least one image with finite values")

    def describe(self) -> str:
        return f"{self.kind}:{_digest(self.images)}"

    def draw(self, t: Steps, shape: Shape, schedule: DiffusionPath, rng: Rng) -> Inputs:
        if self.images.shape[1:] != shape:
            got = self.images.shape[1:]
            raise InputError(f"the probe's images have shape {got}, the network takes {shape}")
        clean = self.images[rng.integers(len(self.images), size=len(t))]
        each = (-1, *(1,) * len(shape))
        a, b = schedule.signal[t].reshape(each), schedule.noise[t].reshape(each)
        noise = rng.standard_normal(clean.shape)
        return torch.from_numpy((a * clean + b * noise).astype("f4"))

    def energy(self, size: int, schedule: DiffusionPath) -> Table:
        clean = float(np.sum(np.square(self.images, dtype=float))) / len(self.images)
        return schedule.signal_power * clean + schedule.noise_power * size


def _digest(array: np.ndarray) -> str:
    """A short name for the content of an array."""
    plain = np.ascontiguousarray(array, dtype=np.float32)
    return hashlib.sha256(repr(plain.shape).encode() + plain.tobytes()).hexdigest()[:16]


#: Every probe of this package, by its name in the grammar.
PROBES: dict[str, type[Probe]] = {probe.kind: probe for probe in (Zero, Gaussian, Point, Forward)}
