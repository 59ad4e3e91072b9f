"""The error of a trained network by direction and noise level.

With a residual r(x_t, t) = eps_theta(x_t, t) - reference (`references`), a direction u and fresh
noisy samples,

    R_u(t) = E[(u^T r)^2],      R(t) = E|r|^2 = sum_u R_u(t).

`total` is the mean of R(t) over all timesteps, or with the weights of a loss. `nats` is its sum
with the weights of the variational bound (`strata`), where the path preserves variance. Where the
data lies in a subspace, R splits into the part *along* it and the part *off* it, which is leakage.
All draws are stratified over the noise levels; every number has a standard error.

The error of the *denoised image* x_0 = (x_t - b eps) / a is sigma = b / a times that of the noise.
At a given sigma it means the same on every path and for every prediction, since
x_t / a = x_0 + sigma eps. So parametrisations are compared by it, at common values of sigma.

Two networks are compared at common samples, noise and timesteps. So whatever is the same for both
cancels in the difference: the spread of the samples, and in a loss the part that no network can
avoid.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from ..foundation.data_frames import as_frame

if TYPE_CHECKING:
    import pandas

NOISE, CLEAN = "noise", "clean"  # the quantities whose error a risk can be


@dataclass(frozen=True, eq=False)
class Risk:
    """The error of a network, or the difference of two.

    Attributes:
        exact: whether it is the excess over the optimum; otherwise it is a loss.
        total: mean over the timesteps of E|r|^2.
        along: the part of it in the subspace of the data; None where that is the whole space.
        off: the part outside that subspace.
        nats: the sum with the weights of the variational bound; None on a path that does not
            preserve variance, and of the denoised image.
        labels: names of the directions or groups of directions.
        widths: the number of directions in each group.
        by_direction: the part of the total in each group, summed over its directions.
        edges: first timestep of each bin of noise levels, and T.
        by_timestep: E|r|^2 in each bin.
        table: the same by group and bin.
        evaluations: the number of noisy samples behind it.
        of: the quantity whose error it is, `noise` or the `clean` sample.
        sigmas: ratios of noise to signal that the total is the mean over; None for all timesteps.
        paired: whether it is the difference of two networks, second minus first.

    >>> import sads
    >>> trained = sads.train("mlp", "gaussian", shape="1x4x4", iterations=2, batch_size=10)
    >>> risk = sads.risk(trained, data="gaussian", tolerance=0.2)
    >>> bool(abs(risk.by_direction.sum() - risk.total) < 1e-6 * risk.total)
    True
    """

    exact: bool
    total: float
    total_error: float
    along: float | None
    along_error: float | None
    off: float | None
    off_error: float | None
    nats: float | None
    nats_error: float | None
    labels: tuple[str, ...]
    widths: Int[np.ndarray, " k"]
    by_direction: Float[np.ndarray, " k"]
    by_direction_error: Float[np.ndarray, " k"]
    edges: Int[np.ndarray, " B1"]
    by_timestep: Float[np.ndarray, " B"]
    by_timestep_error: Float[np.ndarray, " B"]
    table: Float[np.ndarray, "k B"]
    table_error: Float[np.ndarray, "k B"]
    evaluations: int
    of: str = NOISE
    sigmas: tuple[float, ...] | None = None
    paired: bool = False

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each direction or group of directions; needs pandas."""
        columns = ("labels", "widths", "by_direction", "by_direction_error")
        rows = zip(*(getattr(self, name) for name in columns), strict=True)
        names = ("directions", "width", "risk", "risk_error")
        return as_frame(dict(zip(names, row, strict=True)) for row in rows)
