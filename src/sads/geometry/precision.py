"""Float32 where it is right, float64 where it is not, decided by comparing both.

Normalisation of a constant input multiplies rounding by hundreds per layer, and a deep network
can then return amplified rounding in float32. A few networks are evaluated in both precisions;
float32 is used if the two geometries agree within a tenth of the tolerance.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from ..directions.whitening import whitened_distance
from ..errors import NetworkError
from ..inspection.readout_base import ReadOut
from ..randomness import stream

FEWEST, MOST = 4, 32
Moment = Callable[[slice, np.random.Generator, torch.dtype], np.ndarray]


@dataclass(frozen=True)
class Precision:
    """In which precision features are computed, and how that was decided.

    Attributes:
        features: `float32` or `float64`.
        difference: distance of the two geometries, whitened where enough networks were compared;
            None where only one precision could run.
        allowed: the largest difference accepted for float32.
        networks: how many were compared.
    """

    features: str
    difference: float | None
    allowed: float
    networks: int

    @property
    def dtype(self) -> torch.dtype:
        return torch.float32 if self.features == "float32" else torch.float64


def choose_precision(
    moment: Moment, readout: ReadOut, networks: int, chunk: int, seed: int, allowed: float
) -> Precision:
    """Compare float32 with float64 on the same networks.

    Args:
        moment: the summed moment of some of the networks, in a precision.
        readout: what is accumulated.
        networks: how many there are.
        chunk: how many are evaluated at once.
        seed: of their parameters.
        allowed: the largest difference accepted for float32.
    """

    def factor(dtype: torch.dtype) -> Float[np.ndarray, "n n"]:
        rng = stream(seed, "networks of the comparison of precisions")
        total = np.zeros(())
        for start in range(0, networks, chunk):
            total = total + moment(slice(start, start + chunk), rng, dtype)
        return readout.factor(total / networks)

    single = factor(torch.float32)
    try:
        double = factor(torch.float64)
    except NetworkError:  # some modules fix their precision inside
        return Precision("float32", None, allowed, 0)
    if not np.isfinite(double).all():
        raise NetworkError("the networks return NaN or infinity in float64 at the probe")
    if networks * readout.rank >= readout.structure.rows and np.isfinite(single).all():
        difference = whitened_distance(single, double, double)
    else:
        difference = float(np.linalg.norm(single - double) / np.linalg.norm(double))
    agrees = difference <= allowed  # False for NaN
    return Precision("float32" if agrees else "float64", difference, allowed, networks)


def networks_to_compare(readout: ReadOut, planned: int | None) -> int:
    """Enough to see every direction, but no large part of the networks that are planned."""
    most = MOST if planned is None else min(MOST, planned // 8)
    return max(FEWEST, min(-(-2 * readout.structure.rows // readout.rank), most))
