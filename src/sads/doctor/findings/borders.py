"""What padding does at the borders, and whether left and right are alike.

Under a symmetry P of the architecture, P G P^T = G. The sign-flip test of `directions.symmetry`
rejects it for flips, and it is reported only if it changes the estimate visibly. A part of that
change is noise, whose square falls as one over the number of networks; the U statistic of
`statistics.sign_flips` is the square without this part. So a first look says how large the change
will be.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...directions.reflections import Reflection, reflections
from ...directions.symmetry import VETO_LEVEL, symmetry_p_value
from ...geometry import Geometry
from ...networks import ScoreNetwork
from ...statistics.sign_flips import u_statistic
from ..finding import Finding, Undecided
from ..patient import Examined, Patient, relative
from .advice import fields_of, listed

STRIDED = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
VISIBLE = 0.01  # of G, in Frobenius norm
CERTAIN = 3.0  # standard errors on either side of a size


def padding_only(patient: Patient) -> Iterator[Finding]:
    """At x = 0 the output varies over the image because of padding alone."""
    padded = [m for m in patient.start.modules() if _pads_with_zeros(m)]
    if len(patient.family.shape) < 2 or not padded:
        return
    x = torch.zeros_like(patient.x[:1])
    plain = patient.run(patient.start, x, patient.middle)
    with _without_borders(patient.start, padded):
        wrapped = patient.run(patient.start, x, patient.middle)
    if _unevenness(plain) > 1e-6 and _unevenness(wrapped) < patient.rounding:
        yield Finding(
            "padding-only",
            "note",
            f"at x = 0 the output varies over the image by {_unevenness(plain):.2g} of itself, and "
            f"by {_unevenness(wrapped):.1g} if its {len(padded)} convolutions wrap around",
            "the directions of the geometry at x = 0 come from zero padding at the borders, not "
            "from the architecture's filters",
            on_padding(patient.module),
            usual=True,
        )


def _pads_with_zeros(module: nn.Module) -> bool:
    return (
        isinstance(module, (nn.Conv1d, nn.Conv2d))
        and module.padding_mode == "zeros"
        and not isinstance(module.padding, str)
        and any(module.padding)
    )


@contextmanager
def _without_borders(network: nn.Module, convolutions: list[Any]) -> Iterator[None]:
    """Inside this context convolutions wrap around, and norms do not multiply rounding."""
    norms = [m for m in network.modules() if isinstance(getattr(m, "eps", None), float)]
    kept = [norm.eps for norm in norms]
    try:
        for convolution in convolutions:
            convolution.padding_mode = "circular"
        for norm in norms:
            norm.eps = 1.0  # pyright: ignore[reportArgumentType]
        yield
    finally:
        for convolution in convolutions:
            convolution.padding_mode = "zeros"
        for norm, eps in zip(norms, kept, strict=True):
            norm.eps = eps


def _unevenness(output: Tensor) -> float:
    """How much an output (N, C, *S) varies over its positions, relative to itself."""
    flat = output.flatten(2)
    return relative(flat - flat.mean(dim=2, keepdim=True), flat)


def on_padding(module: nn.Module) -> str:
    """How to tell directions that come from padding from those of the filters."""
    said = "compare with the probes gaussian:1 or forward:DATA before trusting fine differences"
    if isinstance(module, ScoreNetwork):
        return said
    return said + "; another padding_mode of the convolutions changes these directions"


def asymmetric(patient: Examined) -> Iterator[Finding]:
    """Flipping the image changes the geometry."""
    zero = patient.zero
    flips = reflections(zero.structure, "flip")
    changes = [_Change.of(zero, one, patient.part) for one in flips]
    if not patient.last and not _decided(changes):
        raise Undecided
    for change in sorted(changes, key=lambda one: -one.size):
        if change.size <= VISIBLE or change.p_value >= VETO_LEVEL:
            continue
        told = "exact" if zero.exact else f"p = {change.p_value:.2g}"
        yield Finding(
            "asymmetric",
            "note",
            f"flipping the image changes G by {change.size:.1%} ({told})",
            "left and right, or up and down, are not alike to the network before it has seen data",
            on_flips(patient.module),
        )
        return


def _decided(changes: "list[_Change]") -> bool:
    """Whether all networks will give the answer of a first look.

    Both flips must have the smallest possible p-value, 1 in 2,048. Without asymmetry this happens
    to one flip at that rate and to both at once far more rarely, so it adds almost nothing to the
    errors of the last look.
    """
    if all(one.high < VISIBLE for one in changes):
        return True
    surely = len(changes) > 1 and all(one.p_value < VETO_LEVEL / 2 for one in changes)
    return surely and any(one.low > VISIBLE for one in changes)


@dataclass(frozen=True)
class _Change:
    """How much a reflection changes an estimate of G, relative to it.

    Attributes:
        size: the change.
        low: the least that it will be with all networks.
        high: the most that it will be.
        geometry: the estimate.
        reflection: what changes it.
    """

    size: float
    low: float
    high: float
    geometry: Geometry
    reflection: Reflection

    @cached_property
    def p_value(self) -> float:
        """The p-value of the symmetry, by flipping the signs of folds."""
        if self.geometry.exact:
            return 0.0
        return symmetry_p_value(self.geometry.each_fold, self.reflection)

    @classmethod
    def of(cls, geometry: Geometry, reflection: Reflection, part: float) -> "_Change":
        """The change, estimated from this part of the networks."""
        factor = geometry.factor
        norm = float(np.linalg.norm(factor))
        size = float(np.linalg.norm(factor - reflection.turned(factor))) / norm
        if geometry.exact or part >= 1 or not size:
            return cls(size, size, size, geometry, reflection)
        weights = geometry.state.counts / geometry.state.counts.sum()
        folds = zip(weights, geometry.each_fold, strict=True)
        changes = np.stack([w * (fold - reflection.turned(fold)).reshape(-1) for w, fold in folds])
        square, error = (value / norm**2 for value in u_statistic(changes @ changes.T, weights))
        noise = max(size**2 - square, 0.0) * part
        least, most = (max(square + reach, 0.0) for reach in (-CERTAIN * error, CERTAIN * error))
        limits = math.sqrt(least + noise), math.sqrt(most + noise)
        return cls(size, *limits, geometry, reflection)


def on_flips(module: nn.Module) -> str:
    """What to change so that the network treats left and right alike."""
    if "resampling" in fields_of(module):
        return "strided convolutions on even sizes do this: use resampling=area"
    strided = [n for n, m in module.named_modules() if isinstance(m, STRIDED) and max(m.stride) > 1]
    strided = [n for n in strided if not _is_patching(module.get_submodule(n))]
    if strided:
        return (
            f"{listed(tuple(strided))}: a strided convolution on an even size does this; average "
            "pooling after a convolution without stride does not"
        )
    return (
        "harmless unless your data is symmetric; positions, one-sided padding, causal layers and "
        "resampling that keeps one pixel of a pair do this"
    )


def _is_patching(layer: nn.Module) -> bool:
    """Whether a strided convolution cuts into patches, which treats both sides alike."""
    return getattr(layer, "kernel_size", None) == getattr(layer, "stride", ())


RESPONSES = (padding_only,)
GEOMETRIES = (asymmetric,)
