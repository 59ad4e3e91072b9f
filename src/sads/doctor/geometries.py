"""Findings from the geometry at x = 0 and at a Gaussian input.

*Low frequencies.* With y drawn from N(0, G), E[(dct y)_k^2] is the energy of G on frequency k.
White noise has a tenth of its energy on the lowest tenth of the frequencies; half of it and more is
`low-frequency-heavy`.

*Flips.* Under a symmetry P of the architecture P G P^T = G; it is rejected by the sign-flip test of
`directions.symmetry` at its level, and told only if it changes G visibly.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from scipy.fft import dctn

from ..comparison import compare
from ..directions.symmetry import VETO_LEVEL, reflections, symmetry_p_value
from ..geometry import Geometry
from ..randomness import stream
from .finding import Finding

LOWEST, HEAVY = 0.1, 0.5
DRAWS = 256
VISIBLE = 0.01  # of G, in Frobenius norm
SENSITIVE = 0.25  # whitened distance of two geometries, for each direction


def ill_conditioned(zero: Geometry) -> Iterator[Finding]:
    """Float32 and float64 give different geometries at x = 0."""
    precision = zero.plan.precision
    if precision is None or precision.difference is None or precision.features == "float32":
        return
    yield Finding(
        "ill-conditioned-probe",
        "warning",
        f"float32 and float64 give geometries that differ by {precision.difference:.2g} at x = 0 "
        f"({precision.networks} networks; {precision.allowed:.2g} would be harmless)",
        "at x = 0 a normalisation divides by a variance of nearly zero and multiplies rounding; "
        "float32 results there are noise",
        "sads computes in float64 here by itself; use --probe gaussian:1 for quick looks, or a "
        "larger eps in the first norms",
    )


def probe_sensitive(zero: Geometry, gaussian: Geometry) -> Iterator[Finding]:
    """The two probes give different geometries, beyond a common factor."""
    found = compare(zero, gaussian, ignore_scale=True)
    if found.different and found.shape_distance > SENSITIVE:
        yield Finding(
            "probe-sensitive",
            "note",
            f"the geometries at x = 0 and at Gaussian x differ by {found.shape_distance:.2g} ± "
            f"{found.shape_distance_error:.1g} for each direction (p = {found.shape_p_value:.2g})",
            "which directions are preferred depends on where the network is looked at",
            "decide with --probe forward:DATA, which looks where training does",
        )


def null_space(zero: Geometry) -> Iterator[Finding]:
    """Directions that no network of the family can produce at the start."""
    null = sum(band.width for band in zero.spectrum().bands if band.null)
    if null:
        yield Finding(
            "null-space",
            "warning",
            f"{null} of {zero.structure.size} directions have eigenvalue zero at x = 0",
            "at the start the network outputs nothing along them, whatever its parameters",
            "expected of a DiT at x = 0 (its positions span few directions); elsewhere look for a "
            "bottleneck narrower than the image",
        )


def low_frequency_heavy(zero: Geometry) -> Iterator[Finding]:
    """Most of G lies on the lowest tenth of the frequencies."""
    if len(zero.shape) < 2:
        return
    share = low_frequency_share(zero)
    if share >= HEAVY:
        yield Finding(
            "low-frequency-heavy",
            "note",
            f"{share:.0%} of tr G lies on the lowest tenth of the frequencies (10 % without "
            "preference)",
            "smooth images lie where the eigenvalues are largest, and there the paper finds the "
            "largest errors",
            "sads align DIR --data DATA says how your data lies; sads rotate moves it away",
        )


def low_frequency_share(geometry: Geometry, seed: int = 0) -> float:
    """The part of tr G on the lowest tenth of the frequencies."""
    values, vectors = np.linalg.eigh(geometry.factor)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    generator = stream(seed, "share of the low frequencies")
    noise = generator.standard_normal((DRAWS, geometry.structure.size))
    drawn = geometry.structure.apply(root, noise).reshape(DRAWS, *geometry.shape)
    spectra = np.asarray(dctn(drawn, axes=range(2, drawn.ndim), norm="ortho"))
    energy = np.square(spectra).mean(axis=(0, 1))
    lowest = _frequencies(geometry.shape[1:]).argsort(axis=None, kind="stable")
    count = max(1, round(LOWEST * energy.size))
    return float(energy.flatten()[lowest[:count]].sum() / energy.sum())


def _frequencies(spatial: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """Length of each frequency, in units of the largest of its axis."""
    axes = np.meshgrid(*[np.arange(n) / n for n in spatial], indexing="ij")
    return np.sqrt(sum(axis**2 for axis in axes))


def asymmetric(zero: Geometry) -> Iterator[Finding]:
    """Flipping the image changes the geometry."""
    worst, level = 0.0, 1.0
    for reflection in reflections(zero.structure, "flip"):
        flipped = zero.factor[np.ix_(reflection, reflection)]
        size = float(np.linalg.norm(zero.factor - flipped) / np.linalg.norm(zero.factor))
        p_value = 0.0 if zero.exact else symmetry_p_value(zero.each_fold, reflection)
        if p_value < VETO_LEVEL and size > worst:
            worst, level = size, p_value
    if worst > VISIBLE:
        told = "exact" if zero.exact else f"p = {level:.2g}"
        yield Finding(
            "asymmetric",
            "note",
            f"flipping the image changes G by {worst:.1%} ({told})",
            "left and right, or up and down, are not alike to the network before it has seen data",
            "strided convolutions on even sizes do this: use resampling=area, or average pooling "
            "after a convolution without stride",
        )
