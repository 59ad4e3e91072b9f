"""Float32 where it is right, float64 where it is not, decided by comparing both.

Normalisation of a constant input multiplies rounding by hundreds per layer, and a deep network
can then return amplified rounding in float32. A few networks are evaluated in both precisions;
float32 is used if the two geometries agree within a tenth of the tolerance.
"""

from dataclasses import dataclass

import numpy as np
import torch

from ..directions.whitening import whitened_distance
from ..errors import NetworkError
from .ensemble import DrawnEnsemble
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
    ensemble: DrawnEnsemble,
    readout: ReadOut,
    x: torch.Tensor,
    t: np.ndarray,
    rng: np.random.Generator,
    allowed: float,
) -> Precision:
    """Compare float32 with float64 on the networks that `rng` draws at (x_i, t_i)."""
    moments: dict[torch.dtype, np.ndarray] = {
        dtype: np.zeros(()) for dtype in (torch.float32, torch.float64)
    }
    for start in range(0, len(t), ensemble.chunk):
        part = slice(start, start + ensemble.chunk)
        parameters = ensemble.draw(len(t[part]), rng)
        for dtype in moments:
            h = ensemble.run(parameters, x[part], torch.from_numpy(t[part]), dtype)
            moments[dtype] = moments[dtype] + readout.moment(h).cpu().numpy()
    single, double = (readout.factor(m / len(t)) for m in moments.values())
    if not np.isfinite(double).all():
        raise NetworkError("the network's features are NaN or infinite in float64 at the probe")
    if len(t) * readout.rank >= readout.structure.rows and np.isfinite(single).all():
        difference = whitened_distance(single, double, double)
    else:
        difference = float(np.linalg.norm(single - double) / np.linalg.norm(double))
    agrees = difference <= allowed  # False for NaN
    return Precision("float32" if agrees else "float64", difference, allowed, len(t))


def networks_to_compare(readout: ReadOut) -> int:
    """Enough to see every direction, within reason."""
    return int(np.clip(-(-2 * readout.structure.rows // readout.rank), FEWEST, MOST))
