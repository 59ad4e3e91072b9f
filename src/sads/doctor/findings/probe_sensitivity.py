"""Whether the geometries at x = 0 and at a Gaussian input differ.

*Whitened distances* of two estimates are whitened with an estimate, which makes them too large by
a factor of up to 1 / (1 - e^2)^2, where e is the whitened error, as for the inverse of a Wishart
matrix.
"""

from collections.abc import Iterator

import numpy as np

from ...comparison import compare
from ..finding import Finding, NotChecked, Undecided
from ..patient import Examined

SENSITIVE = 0.25  # whitened distance of two geometries, for each direction
LEVEL = 0.01  # of their comparison
FIRST_LEVEL = 0.002  # the part of that level that a first look may spend
CERTAIN = 4.0  # standard errors on either side of a distance
KNOWN = 0.1  # whitened error below which the bias of a distance does not matter


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


GEOMETRIES = (probe_sensitive,)
