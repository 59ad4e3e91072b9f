"""All distances between two sets of samples, as one value."""

import math
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Float

from ..randomness import Random
from .gaussian import gaussian_wasserstein
from .max_sliced import max_sliced_wasserstein
from .sliced import sliced_wasserstein


@dataclass(frozen=True)
class Distance:
    """How far two sets of samples are apart.

    Attributes:
        sw2: sliced Wasserstein distance over random directions.
        standard_error: the standard error of sw2; None from a single direction.
        msw2: the largest distance among these random directions.
        msw2_optimised: the distance along the worst direction that a search found.
        msw2_null: what equal distributions would give there.
        p_value: the probability that equal distributions are this far apart.
        projections: number of random directions.
        w2_direction: where one set is rank-one data, W2 of the other along its direction against
            the exact Gaussian; None for other data.

    >>> import numpy as np, sads
    >>> samples = np.eye(4, dtype=np.float32)
    >>> sads.distance(samples, samples, projections=8).to_dict()["sw2"]
    0.0
    """

    sw2: float
    standard_error: float | None
    msw2: float
    msw2_optimised: float
    msw2_null: float
    p_value: float
    projections: int
    w2_direction: float | None

    def to_dict(self) -> dict[str, float | int | None]:
        """The numbers by name, as JSON takes them."""
        return asdict(self)


def measure_distance(
    x: Float[np.ndarray, "N ..."],
    y: Float[np.ndarray, "M ..."],
    *,
    x_direction: Float[np.ndarray, " D"] | None = None,
    y_direction: Float[np.ndarray, " D"] | None = None,
    projections: int | None = None,
    seed: Random = 0,
) -> Distance:
    """Distances between two sets of samples: over random directions, and in the worst one.

    Args:
        x: the first set; the first axis counts its samples.
        y: the second one.
        x_direction: the exact direction v of rank-one data sqrt(D) g v, if x is rank-one data.
        y_direction: the same for y.
        projections: random directions, 64 D unless given.
        seed: the seed of directions and permutations.
    """
    x, y = (np.asarray(samples).reshape(len(samples), -1) for samples in (x, y))
    sliced = sliced_wasserstein(x, y, projections=projections, generator=seed)
    known = [direction for direction in (x_direction, y_direction) if direction is not None]
    worst = max_sliced_wasserstein(
        x, y, candidates=np.stack(known) if known else None, generator=seed
    )
    along = None
    if known:
        model, truth = (y, x_direction) if y_direction is None else (x, y_direction)
        std = math.sqrt(x.shape[1])
        along = gaussian_wasserstein(model, np.asarray(truth), std=std)
    return Distance(
        sw2=sliced.sw2,
        standard_error=None if math.isnan(sliced.standard_error) else sliced.standard_error,
        msw2=sliced.msw2,
        msw2_optimised=worst.msw2,
        msw2_null=worst.null,
        p_value=worst.p_value,
        projections=sliced.projections,
        w2_direction=along,
    )
