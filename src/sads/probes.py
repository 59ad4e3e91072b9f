"""Probes: where the networks are looked at, the distribution P of definition 2.

A probe draws one input x for each network, given its timestep. `shift_free` probes look the same
after any permutation of positions, so they keep every symmetry of the architecture.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from .errors import InputError
from .path import Schedule

LARGEST_STD = 1e9  # the squares of larger inputs leave float32


@dataclass(frozen=True)
class Zero:
    """x = 0, the paper's default.

    >>> import sads
    >>> sads.estimate_geometry("cnn", shape="1x4x4", probe=sads.Zero(), networks=24).plan.probe
    'zero'
    """

    shift_free = True

    def describe(self) -> str:
        return "zero"

    def draw(
        self,
        t: Int[np.ndarray, " N"],
        shape: tuple[int, ...],
        schedule: Schedule,
        rng: np.random.Generator,
    ) -> Float[Tensor, "N ..."]:
        return torch.zeros(len(t), *shape)


@dataclass(frozen=True)
class Gaussian:
    """x drawn from N(0, std^2 I), afresh for each network.

    >>> import sads
    >>> probe = sads.Gaussian(1.0)
    >>> sads.estimate_geometry("cnn", shape="1x4x4", probe=probe, networks=24).plan.probe
    'gaussian:1'
    """

    std: float = 1.0
    shift_free = True

    def __post_init__(self) -> None:
        if not 0 < self.std <= LARGEST_STD:
            raise InputError(
                "a Gaussian probe needs a positive standard deviation of at most "
                f"{LARGEST_STD:g}, got {self.std}"
            )

    def describe(self) -> str:
        return f"gaussian:{self.std:g}"

    def draw(
        self,
        t: Int[np.ndarray, " N"],
        shape: tuple[int, ...],
        schedule: Schedule,
        rng: np.random.Generator,
    ) -> Float[Tensor, "N ..."]:
        noise = rng.standard_normal((len(t), *shape), dtype=np.float32)
        return torch.from_numpy(noise * np.float32(self.std))


@dataclass(frozen=True, eq=False)
class Point:
    """One fixed x for all networks (appendix F).

    >>> import numpy as np, sads
    >>> probe = sads.Point(np.ones((1, 4, 4)))
    >>> sads.estimate_geometry("cnn", shape="1x4x4", probe=probe, networks=24).plan.probe
    'point:0529cc4686c8de8f'
    """

    x: Float[np.ndarray, "..."]
    shift_free = False

    def __post_init__(self) -> None:
        if not np.isfinite(self.x).all():
            raise InputError("a point probe needs finite values, got NaN or infinity")

    def describe(self) -> str:
        return f"point:{_digest(self.x)}"

    def draw(
        self,
        t: Int[np.ndarray, " N"],
        shape: tuple[int, ...],
        schedule: Schedule,
        rng: np.random.Generator,
    ) -> Float[Tensor, "N ..."]:
        if self.x.shape != shape:
            raise InputError(
                f"the probe's point has shape {self.x.shape}, the network takes {shape}"
            )
        return torch.from_numpy(self.x.astype(np.float32)).expand(len(t), *shape)


@dataclass(frozen=True, eq=False)
class Forward:
    """The forward process of some images: x_t = sqrt(abar_t) x + sqrt(1 - abar_t) eps.

    Args:
        images: shape (M, *shape); each network gets one of them at random.

    >>> import numpy as np, sads
    >>> probe = sads.Forward(np.ones((2, 1, 4, 4), dtype=np.float32))
    >>> sads.estimate_geometry("cnn", shape="1x4x4", probe=probe, networks=24).plan.probe
    'forward:f9ab1546a317ee35'
    """

    images: Float[np.ndarray, "M ..."]
    shift_free = False

    def __post_init__(self) -> None:
        if not len(self.images) or not np.isfinite(self.images).all():
            raise InputError("a forward probe needs at least one image with finite values")

    def describe(self) -> str:
        return f"forward:{_digest(self.images)}"

    def draw(
        self,
        t: Int[np.ndarray, " N"],
        shape: tuple[int, ...],
        schedule: Schedule,
        rng: np.random.Generator,
    ) -> Float[Tensor, "N ..."]:
        if self.images.shape[1:] != shape:
            got = self.images.shape[1:]
            raise InputError(f"the probe's images have shape {got}, the network takes {shape}")
        clean = self.images[rng.integers(len(self.images), size=len(t))]
        abar = schedule.abar[t].reshape(-1, *(1,) * len(shape))
        noise = rng.standard_normal(clean.shape)
        return torch.from_numpy((np.sqrt(abar) * clean + np.sqrt(1 - abar) * noise).astype("f4"))


Probe = Zero | Gaussian | Point | Forward


def _digest(array: np.ndarray) -> str:
    """A short name for the content of an array."""
    plain = np.ascontiguousarray(array, dtype=np.float32)
    return hashlib.sha256(repr(plain.shape).encode() + plain.tobytes()).hexdigest()[:16]
