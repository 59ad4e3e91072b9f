"""What the geometries at x = 0 and at a Gaussian input say of a network.

*Low frequencies.* With white noise z and its part L z on the lowest tenth of the frequencies,
E[(L z)^T G L z] is the energy of G there, and E[z^T G z] all of it. White noise has a tenth of its
energy there; half of it and more is `low-frequency-heavy`.

*Whitened distances* are told of two estimates by whitening with an estimate, which makes them too
large by up to 1 / (1 - e^2)^2, e the whitened error: as if by the inverse of a Wishart matrix.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from scipy.fft import dctn, idctn

from ...comparison import compare
from ...directions.structure import Structure
from ...directions.whitening import numerical_range
from ...geometry import Geometry
from ...randomness import stream
from ..finding import Finding, NotChecked, Undecided
from ..patient import MOVED, Examined

LOWEST, HEAVY = 0.1, 0.5
DRAWS = 256
ABSENT = 1e-9  # of the energy that white noise has in a subspace: rounding
SENSITIVE = 0.25  # whitened distance of two geometries, for each direction
LEVEL = 0.01  # of their comparison
FIRST_LEVEL = 0.002  # of that what a first look may spend
CERTAIN = 4.0  # standard errors of a share or a distance
KNOWN = 0.1  # whitened error below which a distance is not biased to speak of


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
        if not patient.last:
            raise Undecided
        needed = -(-zero.structure.rows // zero.plan.readout.rank)
        raise NotChecked(f"probe-sensitive: it takes at least {needed:,} networks")
    if zero is gaussian:
        return
    level = LEVEL if patient.looks == 1 else LEVEL - FIRST_LEVEL if patient.last else FIRST_LEVEL
    comparison = compare(zero, gaussian, level=level, ignore_scale=True)
    whitened_error = max(zero.whitened_error, gaussian.whitened_error)
    reach = CERTAIN * comparison.shape_distance_error
    low = comparison.shape_distance * max(1 - whitened_error**2, 0.0) ** 2 - reach
    high = comparison.shape_distance + reach if whitened_error < KNOWN else np.inf
    patient.settle((low, high), limit=SENSITIVE)
    if not (patient.last or comparison.different or high < SENSITIVE):
        raise Undecided
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
    values = np.linalg.eigvalsh(zero.factor)
    if numerical_range(values, float(values[-1])).all():
        return  # told without the spectrum, which takes far longer
    null = zero.spectrum().null_directions
    if not null:
        return
    if zero.spectrum().unseen and not patient.last:
        raise Undecided
    size = zero.structure.directions
    where = f" of the subspace {zero.plan.subspace}" if zero.plan.subspace else ""
    evidence = f"{null} of {size} directions{where} have eigenvalue zero at x = 0"
    share = null_share(zero, patient.usual.double().numpy())
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
    share, error = low_frequency_share(patient.zero)
    patient.settle((share - CERTAIN * error, share + CERTAIN * error), limit=HEAVY)
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


def low_frequency_share(geometry: Geometry) -> tuple[float, float]:
    """The part of tr G on the lowest tenth of the frequencies, and its standard error.

    Of a subspace it is at least that.
    """
    low, whole = _energies(geometry.structure)
    inside = geometry.inside[0]
    share = float(np.vdot(low, geometry.factor) / np.vdot(whole, geometry.factor)) * inside
    if geometry.exact:
        return share, 0.0
    each = [(np.vdot(low, fold), np.vdot(whole, fold)) for fold in geometry.each_fold]
    parts, totals = np.array(each).T
    # Delta method for the ratio of two means over networks.
    residuals = (parts - share / inside * totals) / totals.mean() * inside
    return share, float(residuals.std(ddof=1) / np.sqrt(len(residuals)))


def _energies(
    structure: Structure,
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"]]:
    """Matrices whose products with a factor are its energy on low frequencies, and in all."""
    noise = stream(0, "share of the low frequencies").standard_normal((DRAWS, *structure.shape))
    axes = range(2, noise.ndim)
    spectra = np.asarray(dctn(noise, axes=axes, norm="ortho"))
    order = _frequencies(structure.shape[1:]).argsort(axis=None, kind="stable")
    lowest = np.zeros(order.size, dtype=bool)
    lowest[order[: max(1, round(LOWEST * order.size))]] = True
    kept = spectra * lowest.reshape(structure.shape[1:])
    smooth = np.asarray(idctn(kept, axes=axes, norm="ortho"))
    flat = (vectors.reshape(DRAWS, -1) for vectors in (smooth, noise))
    low, whole = (structure.parts(vectors).reshape(-1, structure.rows) for vectors in flat)
    return low.T @ low, whole.T @ whole


def _frequencies(spatial: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """Length of each frequency, in units of the largest of its axis."""
    axes = np.meshgrid(*[np.arange(n) / n for n in spatial], indexing="ij")
    return np.sqrt(sum(axis**2 for axis in axes))
