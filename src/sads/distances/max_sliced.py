"""The max-sliced 2-Wasserstein distance: how far two samples are where they differ most.

    MSW2 = max_{|v| = 1} W2(v),        W2(v) the distance of the projections on v

In high dimension there is always a direction along which two finite samples differ: maximised and
measured on the same samples, MSW2 is about 1 between two samples of one normal distribution with
D = 1024 and 2,000 points. So each sample is cut into three parts at random:

    fit half:    an ascent part on which directions are improved, and a choice part on which the
                 best is chosen (an ascent that only fitted the noise of its sample loses here);
    score half:  used once, to measure W2 along the one chosen direction.

The direction is independent of the score half. If both distributions are the same, the pooled score
half is exchangeable, and permuting it with the direction fixed gives an exact p-value.

Ascent: with the pairing of the sorted projections fixed, W2(v)^2 = v^T M v with the second moment
M = sum_k w_k z_k z_k^T of the paired differences z_k = x_{i_k} - y_{j_k}; its gradient is 2 M v.
A step goes half-way to where the power method would, v <- v + M v / |M v| at unit length, and sorts
anew; whole steps circle around a narrow summit. M is never formed: M v = X^T a - Y^T b with one
residual for each point (see `Coupling.residuals`).

Starts: given candidates, the difference of means, the eigenvectors of largest |eigenvalue| of the
difference of second moments about the pooled mean (W2 does not see a common shift), and random
directions.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..randomness import Random, as_generator
from ..statistics.resampling import p_value
from .checks import at_least, direction_norms, sample_pair
from .quantiles import Coupling
from .sliced import sliced_wasserstein

EIGENVECTORS = 8
EIGENVECTOR_STEPS = 20  # subspace iterations: a start needs no more digits
ASCENT_STEPS = 20
REFINED_CANDIDATES = 8  # given candidates that are refined; the others compete unchanged
ASCENT_SHARE = 2 / 3  # of the fit half; choosing between directions needs fewer points


@dataclass(frozen=True, eq=False)
class MaxSlicedWasserstein:
    """The largest distance found along one direction.

    Attributes:
        msw2: W2 along `direction` on the score half, which had no part in choosing it.
        direction: the unit vector found on the fit half; its sign has no meaning.
        fit_value: W2 along it on the fit half; too large, since the direction was fitted to it.
        null: mean of msw2 over permutations of the pooled score half: what chance alone gives.
        p_value: (1 + number of permutations that reach msw2) / (1 + permutations).
    """

    msw2: float
    direction: Float[np.ndarray, " D"]
    fit_value: float
    null: float
    p_value: float


def max_sliced_wasserstein(
    x: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "M D"],
    *,
    candidates: Float[np.ndarray, "C D"] | None = None,
    restarts: int = 8,
    permutations: int = 999,
    generator: Random = 0,
) -> MaxSlicedWasserstein:
    """Find the direction of largest W2 on one half of the samples, measure it on the other.

    Args:
        candidates: directions worth trying, such as score anisotropy directions, one in each row.
        restarts: random starts beside the informed ones.
        permutations: how often the score half is permuted, for `null` and `p_value`; the least
            p-value is 1 / (1 + permutations).
        generator: a seed, or a NumPy or torch generator, for the split, the starts and the
            permutations.
    """
    x, y = sample_pair(x, y, least=4)
    at_least("restarts", restarts, 0)
    at_least("permutations", permutations, 1)
    size = x.shape[1]
    given = np.empty((0, size))
    if candidates is not None:
        candidates = np.asarray(candidates)
        given = candidates / direction_norms("candidates", candidates, size)
    generator = as_generator(generator, "search of the worst direction")

    (x_ascent, x_choice, x_score), (y_ascent, y_choice, y_score) = (
        _split(sample, generator) for sample in (x, y)
    )
    centred = _centre(x_ascent, y_ascent)
    starts = np.concatenate(
        [
            given[_best(x_choice, y_choice, given, REFINED_CANDIDATES)],
            _mean_difference(*centred),
            _top_eigenvectors(*centred, generator),
            generator.standard_normal((restarts, size)),
        ]
    )
    starts = _unit_rows(starts[starts.any(axis=1)])  # equal means have no difference
    # Starts compete too: an ascent may lose a true direction to its sample's noise.
    contenders = np.concatenate([given, starts, _ascend(*centred, starts)])
    direction = contenders[_best(x_choice, y_choice, contenders, 1)[0]]

    fit = sliced_wasserstein(
        np.concatenate([x_ascent, x_choice]),
        np.concatenate([y_ascent, y_choice]),
        directions=direction[None],
    )
    score, null = _permutation_test(
        x_score @ direction, y_score @ direction, permutations, generator
    )
    return MaxSlicedWasserstein(
        msw2=score,
        direction=direction,
        fit_value=fit.sw2,
        null=float(null.mean()),
        p_value=p_value(score, null),
    )


def _split(
    sample: Float[np.ndarray, "N D"], generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random division of the samples: for the ascent, for the choice and for the score."""
    order = generator.permutation(len(sample))
    fit = len(sample) // 2
    ascent = int(ASCENT_SHARE * fit)
    return sample[order[:ascent]], sample[order[ascent:fit]], sample[order[fit:]]


def _best(x: np.ndarray, y: np.ndarray, directions: np.ndarray, count: int) -> np.ndarray:
    """Indices of the directions of largest W2, the largest first."""
    if not len(directions):
        return np.empty(0, dtype=int)
    values = sliced_wasserstein(x, y, directions=directions).values
    return np.argsort(-values, kind="stable")[:count]


def _centre(
    x: Float[np.ndarray, "n D"], y: Float[np.ndarray, "m D"]
) -> tuple[Float[np.ndarray, "n D"], Float[np.ndarray, "m D"]]:
    """Both samples without their pooled mean, which W2 does not see but float32 would."""
    total = x.sum(axis=0, dtype=np.float64) + y.sum(axis=0, dtype=np.float64)
    pooled = (total / (len(x) + len(y))).astype(x.dtype)
    return x - pooled, y - pooled


def _mean_difference(
    x: Float[np.ndarray, "n D"], y: Float[np.ndarray, "m D"]
) -> Float[np.ndarray, "1 D"]:
    difference = x.mean(axis=0, dtype=np.float64) - y.mean(axis=0, dtype=np.float64)
    return difference[None]


def _top_eigenvectors(
    x: Float[np.ndarray, "n D"], y: Float[np.ndarray, "m D"], generator: np.random.Generator
) -> Float[np.ndarray, "_ D"]:
    """A basis of the top eigenvectors of X^T X / n - Y^T Y / m, by subspace iteration.

    QR at each step orders it: the first rows turn to the largest |eigenvalue| first.
    """
    size = x.shape[1]
    basis = np.linalg.qr(generator.standard_normal((size, min(EIGENVECTORS, size))))[0]
    for _ in range(EIGENVECTOR_STEPS):
        basis = basis.astype(x.dtype, copy=False)
        image = x.T @ (x @ basis) / len(x) - y.T @ (y @ basis) / len(y)
        basis = np.linalg.qr(image)[0]
    return basis.T.astype(np.float64)


def _ascend(
    x: Float[np.ndarray, "n D"],
    y: Float[np.ndarray, "m D"],
    directions: Float[np.ndarray, "S D"],
) -> Float[np.ndarray, "_ D"]:
    """The unit directions that the starts end in."""
    coupling = Coupling.of_sizes(len(x), len(y))
    for _ in range(ASCENT_STEPS):
        if not len(directions):
            break
        narrow = directions.astype(x.dtype)
        pairs = zip(narrow @ x.T, narrow @ y.T, strict=True)
        a, b = map(np.array, zip(*(coupling.residuals(p, q) for p, q in pairs), strict=True))
        steps = a.astype(x.dtype) @ x - b.astype(x.dtype) @ y
        moving = steps.any(axis=1)  # the others have no gradient and stay where they are
        directions = _unit_rows(directions[moving] + _unit_rows(steps[moving]))
    return directions


def _unit_rows(rows: Float[np.ndarray, "S D"]) -> Float[np.ndarray, "S D"]:
    rows = rows.astype(np.float64, copy=False)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _permutation_test(
    p: Float[np.ndarray, " n"],
    q: Float[np.ndarray, " m"],
    permutations: int,
    generator: np.random.Generator,
) -> tuple[float, Float[np.ndarray, " permutations"]]:
    """W2 of two samples on the line, and of random divisions of their union into as many points."""
    coupling = Coupling.of_sizes(len(p), len(q))
    pooled = np.concatenate([p, q])
    order = np.argsort(pooled, kind="stable")
    pooled = pooled[order]
    first = np.arange(len(pooled)) < len(p)

    def distance(member: np.ndarray) -> float:
        # The union is sorted, and so is any part of it.
        return math.sqrt(coupling.squared(pooled[None, member], pooled[None, ~member]).item())

    score = distance(first[order])
    null = [distance(generator.permutation(first)) for _ in range(permutations)]
    return score, np.array(null)
