"""What the geometries at x = 0 and at a Gaussian input say of a network.

*Low frequencies.* With y drawn from N(0, G), E[(dct y)_k^2] is the energy of G on frequency k.
White noise has a tenth of its energy on the lowest tenth of the frequencies; half of it and more is
`low-frequency-heavy`.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from scipy.fft import dctn

from ...comparison import compare
from ...geometry import Geometry
from ...randomness import stream
from ..finding import Finding, NotChecked
from ..patient import MOVED, Examined

LOWEST, HEAVY = 0.1, 0.5
DRAWS = 256
ABSENT = 1e-9  # of the energy that white noise has in a subspace: rounding
SENSITIVE = 0.25  # whitened distance of two geometries, for each direction


def ill_conditioned(patient: Examined) -> Iterator[Finding]:
    """Float32 and float64 give different geometries at x = 0."""
    precision = patient.zero.plan.precision
    if precision is None or precision.difference is None or precision.features == "float32":
        return
    yield Finding(
        "ill-conditioned-probe",
        "note",
        f"float32 and float64 give geometries that differ by {precision.difference:.2g} at x = 0 "
        f"({precision.networks} networks; {precision.allowed:.2g} would be harmless)",
        "at x = 0 a normalisation divides by a variance of nearly zero and multiplies rounding; "
        "float32 results there are noise. Training does not look there.",
        "nothing to mend: sads computes in float64 here by itself; the probe gaussian:1 is quicker",
    )


def probe_sensitive(patient: Examined) -> Iterator[Finding]:
    """The two probes give different geometries, beyond a common factor."""
    zero, gaussian = patient.zero, patient.gaussian
    if zero.whitened_error is None or gaussian.whitened_error is None:
        needed = -(-zero.structure.rows // zero.plan.readout.rank)
        raise NotChecked(f"probe-sensitive: it takes at least {needed:,} networks")
    if zero is gaussian:
        return
    comparison = compare(zero, gaussian, ignore_scale=True)
    if comparison.different and comparison.shape_distance > SENSITIVE:
        distance = f"{comparison.shape_distance:.2g} ± {comparison.shape_distance_error:.1g}"
        yield Finding(
            "probe-sensitive",
            "note",
            f"the geometries at x = 0 and at Gaussian x differ by {distance} for each direction "
            f"(p = {comparison.shape_p_value:.2g})",
            "which directions are preferred depends on where the network is looked at",
            "decide with the probe forward:DATA, which looks where training does",
            usual=True,
        )


def null_space(patient: Examined) -> Iterator[Finding]:
    """Directions that no network of the family produces at x = 0, or none anywhere."""
    zero = patient.zero
    null = sum(band.width for band in zero.spectrum().bands if band.null)
    if not null:
        return
    size = zero.structure.directions
    evidence = f"{null} of {size} directions have eigenvalue zero at x = 0"
    output = patient.run(patient.moved, patient.x, patient.middle)
    share = null_share(zero, output.double().numpy())
    if share < ABSENT * null / size:
        yield Finding(
            "null-space",
            "warning",
            f"{evidence}; at Gaussian x, {MOVED}, they have {share:.1g} of the output's energy",
            "the network outputs nothing along them, whatever its parameters, and cannot learn to",
            "look for a bottleneck narrower than the image that no connection goes around",
        )
        return
    yield Finding(
        "null-space",
        "note",
        f"{evidence}; at Gaussian x, {MOVED}, they have {share:.2g} of the output's energy",
        "no network outputs anything along them at x = 0 at the start; elsewhere networks do",
        "nothing to mend; the geometry at the probe gaussian:1 or forward:DATA has these "
        "directions too",
    )


def null_share(zero: Geometry, output: Float[np.ndarray, "N ..."]) -> float:
    """The part of the energy of outputs that lies in the null space of a geometry."""
    spectrum, structure = zero.spectrum(), zero.structure
    null = np.zeros(structure.directions, dtype=bool)
    for band in spectrum.bands:
        null[band.first : band.last + 1] = band.null
    vectors = spectrum.factor_vectors[:, null[:: structure.copies]]
    inside = structure.parts(output.reshape(len(output), -1)) @ vectors
    return float(np.square(inside).sum() / np.square(output).sum())


def low_frequency_heavy(patient: Examined) -> Iterator[Finding]:
    """Most of G lies on the lowest tenth of the frequencies."""
    if len(patient.zero.shape) < 2:
        return
    share = low_frequency_share(patient.zero)
    if share >= HEAVY:
        yield Finding(
            "low-frequency-heavy",
            "note",
            f"{share:.0%} of tr G lies on the lowest tenth of the frequencies (10 % without "
            "preference)",
            "smooth images lie where the eigenvalues are largest, and there the paper finds the "
            "largest errors",
            "sads align DIR --data DATA says how your data lies; sads rotate moves it away",
            usual=True,
        )


def low_frequency_share(geometry: Geometry) -> float:
    """The part of tr G on the lowest tenth of the frequencies; of a subspace at least that."""
    values, vectors = np.linalg.eigh(geometry.factor)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    generator = stream(0, "share of the low frequencies")
    noise = generator.standard_normal((DRAWS, geometry.structure.size))
    drawn = geometry.structure.apply(root, noise).reshape(DRAWS, *geometry.shape)
    spectra = np.asarray(dctn(drawn, axes=range(2, drawn.ndim), norm="ortho"))
    energy = np.square(spectra).mean(axis=(0, 1))
    lowest = _frequencies(geometry.shape[1:]).argsort(axis=None, kind="stable")
    count = max(1, round(LOWEST * energy.size))
    share = float(energy.flatten()[lowest[:count]].sum() / energy.sum())
    return share * geometry.inside[0]


def _frequencies(spatial: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """Length of each frequency, in units of the largest of its axis."""
    axes = np.meshgrid(*[np.arange(n) / n for n in spatial], indexing="ij")
    return np.sqrt(sum(axis**2 for axis in axes))
