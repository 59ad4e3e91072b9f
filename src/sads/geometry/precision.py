"""Float32 where it is right, float64 where it is not, decided by comparing both.

Normalisation of a constant input multiplies rounding by hundreds per layer, and a deep network
can then return amplified rounding in float32. A few networks are evaluated in both precisions;
float32 is used if the two geometries agree within a tenth of the tolerance.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..directions.whitening import whitened_distance
from ..errors import NetworkError
from .ensemble import Ensemble
from .readout import ReadOut

FEWEST, MOST = 4, 32


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
    ensemble: Ensemble,
    readout: ReadOut,
    x: Float[Tensor, "N ..."],
    t: Int[np.ndarray, " N"],
    seed: int,
    allowed: float,
) -> Precision:
    """Compare float32 with float64 on the same networks at (x_i, t_i)."""

    def factor(dtype: torch.dtype) -> Float[np.ndarray, "n n"]:
        return _factor(ensemble, readout, x, t, np.random.default_rng([seed, 3]), dtype)

    single = factor(torch.float32)
    try:
        double = factor(torch.float64)
    except NetworkError:  # some modules fix their precision inside
        return Precision("float32", None, allowed, 0)
    if not np.isfinite(double).all():
        raise NetworkError("the networks return NaN or infinity in float64 at the probe")
    if len(t) * readout.rank >= readout.structure.rows and np.isfinite(single).all():
        difference = whitened_distance(single, double, double)
    else:
        difference = float(np.linalg.norm(single - double) / np.linalg.norm(double))
    agrees = difference <= allowed  # False for NaN
    return Precision("float32" if agrees else "float64", difference, allowed, len(t))


def _factor(
    ensemble: Ensemble,
    readout: ReadOut,
    x: Tensor,
    t: np.ndarray,
    rng: np.random.Generator,
    dtype: torch.dtype,
) -> Float[np.ndarray, "n n"]:
    total = np.zeros(())
    for start in range(0, len(t), ensemble.chunk):
        part = slice(start, start + ensemble.chunk)
        total = (
            total + readout.moment(ensemble.evaluate(x[part], t[part], rng, dtype)).cpu().numpy()
        )
    return readout.factor(total / len(t))


def networks_to_compare(readout: ReadOut) -> int:
    """Enough to see every direction, within reason."""
    return int(np.clip(-(-2 * readout.structure.rows // readout.rank), FEWEST, MOST))
