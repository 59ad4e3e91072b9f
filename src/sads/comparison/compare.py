"""Comparing two geometries: do they differ beyond their error bars, where, and by how much.

The difference is whitened and split into parts (`whitened_difference`), ratios are taken on a
logarithmic scale (`log_ratios`), and all are tested by flipping signs of folds (`sign_flips`). The
answers are nested, so that they cannot contradict each other:

1. *Any* difference: the whole, the common factor, all bands' ratios, all bands' rotations.
2. The *scale*, a common factor c of most directions. It belongs to the same family of tests, so it
   is significant only where 1 is.
3. The *shape*, what remains after division by c: its whole, all bands' ratios relative to c, and
   all rotations. It counts as significant only where 1 is.
4. A *band*: its ratio relative to c, its rotation. They belong to the family of 3, so they are
   significant only where the shape is.

Every interval holds the values that the same test does not reject: that of c excludes 1, and that
of a band's ratio over c excludes 1, exactly where the p-value is at or below the level. Where a
family is not significant as a whole its intervals are extended to 1.

Folds are compared in pairs, so the two geometries may share draws (equal seeds); the pairs are
still independent.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..directions import FOLDS
from ..errors import InputError
from ..geometry import Geometry
from ..statistics.sign_flips import judged, linear, quadratic, u_statistic
from .log_ratios import LogRatios, flipped, interval
from .values import BandDifference, Comparison
from .whitened_difference import NOISELESS, WhitenedDifference

ROUNDING = 1e-9  # differences below this fraction of the largest eigenvalue are rounding
SMALLEST_LEVEL = 4 * 0.5 ** (FOLDS - 1)  # a p-value combines four statistics
FEW_A_FOLD = 20  # effective networks, below which the noise of a fold is far from symmetric
PLANNED = ("network", "schedule", "steps", "probe", "estimator", "weighting", "timesteps")


@dataclass(frozen=True)
class _Answers:
    """p-values, and the intervals of logarithms that agree with them."""

    any: float
    shape: float
    scale: float
    ratio: Float[np.ndarray, " b"]
    rotation: Float[np.ndarray, " b"]
    scale_interval: tuple[float, float]
    ratio_intervals: list[tuple[float, float]]


def compare(
    a: Geometry, b: Geometry, *, level: float = 0.01, ignore_scale: bool = False
) -> Comparison:
    """Compare two geometries of one shape, of any architectures, probes and noise levels.

    Args:
        a: the first.
        b: the second; ratios are its values over those of the first.
        level: the level of significance: this share of equal geometries is called different.
        ignore_scale: whether geometries that differ only by a factor count as equal.

    Raises:
        InputError: if the shapes differ, or one has too few networks for error bars.

    >>> import sads
    >>> one, other = (sads.estimate_geometry(n, shape="1x4x4", networks=24) for n in ("cnn", "mlp"))
    >>> sads.compare(one, other).different
    True
    """
    if not SMALLEST_LEVEL <= level < 1:
        raise InputError(
            f"the level is at least {SMALLEST_LEVEL:.4f}, which {FOLDS} folds can always reach, "
            f"and below 1: got {level}"
        )
    errors = _usable_error(a), _usable_error(b)
    whitened = WhitenedDifference.of(a, b)
    ratios = LogRatios.of(whitened)
    answers = (
        _flipped(whitened, ratios, level) if len(whitened.weights) > 1 else _exact(whitened, ratios)
    )
    own, plain, weights = whitened.difference, whitened.plain, whitened.weights
    distance, distance_error = _size(own.whole, plain.whole, weights, whitened.rank)
    shape_distance, shape_error = _size(own.shape, plain.shape, weights, whitened.rank)
    rounding = max(_rounding(a), _rounding(b))
    significant = (answers.shape if ignore_scale else answers.any) <= level
    different = significant and (shape_distance if ignore_scale else distance) > rounding
    notes = _notes(a, b)
    if significant and not different:
        notes += (f"The difference is within the rounding of their precision, {rounding:.1g}.",)
    scale = math.exp(ratios.scale)
    shape_different = different and answers.shape <= level
    return Comparison(
        different=different,
        level=level,
        ignore_scale=ignore_scale,
        p_value=answers.any,
        distance=distance,
        distance_error=distance_error,
        scale=scale,
        scale_error=scale * ratios.error(ratios.scale_folds),
        scale_p_value=answers.scale,
        scale_low=math.exp(answers.scale_interval[0]),
        scale_high=_exponential(answers.scale_interval[1]),
        scale_different=different and answers.scale <= level,
        shape_distance=shape_distance,
        shape_distance_error=shape_error,
        shape_p_value=answers.shape,
        shape_different=shape_different,
        whitened_errors=errors,
        bands=_bands(whitened, ratios, answers, level if shape_different else -1.0),
        notes=notes,
    )


def _usable_error(geometry: Geometry) -> float:
    """The whitened error of a geometry that is fit to be compared."""
    name, error = geometry.plan.network, geometry.whitened_error
    if not geometry.factor.any():
        raise InputError(f"the geometry of {name} is zero: there is nothing to compare")
    if error is None:
        needed = -(-geometry.structure.rows // geometry.plan.readout.rank)
        raise InputError(
            f"{name} has {geometry.networks} networks, too few to see every direction: expected at "
            f"least {needed}, estimate it with more"
        )
    return error


def _flipped(whitened: WhitenedDifference, ratios: LogRatios, level: float) -> _Answers:
    """The p-values and intervals from flipping the signs of folds."""
    grams = np.stack([whitened.relative.whole, whitened.relative.shape])
    whole, shape = quadratic(grams).T[:, :, None]
    rotation = quadratic(whitened.relative.rotation)
    scale, relative = flipped(ratios, whitened.width)
    every = [whole, scale, linear(_above_rounding(ratios.band_folds, whitened)), rotation]
    equal = judged(every, level)
    similar = judged([shape, relative, rotation], level)
    # Without a significant difference in all, none is reported for a single part.
    gate = np.float64(equal.p_value)
    band_p_values, rotation_p_values = (np.maximum(p, gate) for p in similar.p_values[1:])
    scale_p_value = float(equal.p_values[1][0])
    parts = zip(
        ratios.relative.tolist(), ratios.relative_folds.T, band_p_values.tolist(), strict=True
    )
    intervals = [
        _agreeing(interval(value, folds, whitened.weights, similar.critical[1]), value, p <= level)
        for value, folds, p in parts
    ]
    return _Answers(
        equal.p_value,
        max(similar.p_value, equal.p_value),
        scale_p_value,
        band_p_values,
        rotation_p_values,
        _agreeing(
            interval(ratios.scale, ratios.scale_folds, whitened.weights, equal.critical[1]),
            ratios.scale,
            scale_p_value <= level,
        ),
        intervals,
    )


def _agreeing(
    limits: tuple[float, float], estimate: float, significant: bool
) -> tuple[float, float]:
    """An interval of a logarithm around its estimate, extended to 0 where that is not rejected."""
    low, high = min(limits[0], estimate), max(limits[1], estimate)
    return (low, high) if significant else (min(low, 0.0), max(high, 0.0))


def _exact(whitened: WhitenedDifference, ratios: LogRatios) -> _Answers:
    """The result for two closed forms: a p-value is 0 if they differ beyond rounding, else 1."""
    # The rounding error of the largest eigenvalue, whitened by each band's smallest.
    allowed = ROUNDING * whitened.eigenvalues.max() / whitened.eigenvalues[whitened.edges[1:] - 1]
    rotation = np.sqrt(whitened.relative.rotation[:, 0, 0] / whitened.width) <= allowed
    equal = bool((np.abs(whitened.difference.means[0]) <= allowed).all() and rotation.all())
    relative = (np.abs(ratios.relative_folds[0]) <= allowed) | equal
    scale = bool(abs(ratios.scale) <= allowed.min()) or equal
    return _Answers(
        float(equal),
        float(relative.all() and rotation.all()),
        float(scale),
        relative.astype(float),
        rotation.astype(float),
        _agreeing((ratios.scale, ratios.scale), ratios.scale, not scale),
        [
            _agreeing((value, value), value, not same)
            for value, same in zip(ratios.relative.tolist(), relative.tolist(), strict=True)
        ],
    )


def _above_rounding(
    folds: Float[np.ndarray, "K b"], whitened: WhitenedDifference
) -> Float[np.ndarray, "K b"]:
    """The values of the folds, set to zero where they are only rounding."""
    floor = NOISELESS * np.trace(whitened.difference.whole) / whitened.rank
    return np.where(np.sum(folds**2, axis=0) > floor, folds, 0.0)


def _exponential(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm < 700 else math.inf


def _size(
    gram: Float[np.ndarray, "K K"],
    plain: Float[np.ndarray, "1 1"],
    weights: Float[np.ndarray, " K"],
    count: int,
) -> tuple[float, float]:
    """sqrt(U / count) relative to the plain mean, 0 where U is negative, and its standard error."""
    u, error = u_statistic(gram, weights) if len(weights) > 1 else (float(gram[0, 0]), 0.0)
    # Without noise U would be gram.sum(), which is `plain` relative to the plain mean.
    unit = float(plain[0, 0] / gram.sum() / count) if gram.sum() > 0 else 0.0
    # The error is the upper end's: at U = 0 the root has no derivative.
    low, high = np.sqrt(max(u, 0.0) * unit), np.sqrt((max(u, 0.0) + error) * unit)
    return float(low), float(high - low)


def _bands(
    whitened: WhitenedDifference, ratios: LogRatios, answers: _Answers, level: float
) -> tuple[BandDifference, ...]:
    rotation, plain = whitened.difference.rotation, whitened.plain.rotation
    bands = []
    for i, band in enumerate(whitened.bands):
        ratio = error = relative = low = high = None
        if ratios.known[i]:
            ratio = math.exp(ratios.bands[i])
            error = ratio * ratios.error(ratios.band_folds[:, i])
            relative = math.exp(ratios.relative[i])
            low, high = map(_exponential, answers.ratio_intervals[i])
        size = _size(rotation[i], plain[i], whitened.weights, int(whitened.width[i]))
        p_ratio, p_rotation = float(answers.ratio[i]), float(answers.rotation[i])
        bands.append(
            BandDifference(
                first=band.first,
                last=band.last,
                ratio=ratio,
                ratio_error=error,
                ratio_p_value=p_ratio,
                rotation=size[0],
                rotation_error=size[1],
                rotation_p_value=p_rotation,
                different=min(p_ratio, p_rotation) <= level,
                relative_ratio=relative,
                relative_low=low,
                relative_high=high,
            )
        )
    return tuple(bands)


def _rounding(geometry: Geometry) -> float:
    """The whitened distance at which another machine may reproduce the same geometry."""
    precision = geometry.plan.precision
    if precision is None or precision.features == "float64":
        return ROUNDING
    return precision.allowed if precision.difference is None else precision.difference


def _notes(a: Geometry, b: Geometry) -> tuple[str, ...]:
    """Other differences in how the two were made, and cautions."""
    plans = [(name, getattr(a.plan, name), getattr(b.plan, name)) for name in PLANNED]
    notes = [f"Made differently: {name} {x} against {y}." for name, x, y in plans if x != y]
    if a.plan.network == b.plan.network and a.plan.fingerprint != b.plan.fingerprint:
        notes.append("Their networks share a name but have other parameters or initial values.")
    drawn_alike = (a.plan.seed, a.plan.draws) == (b.plan.seed, b.plan.draws)
    if not (a.exact or b.exact) and drawn_alike:
        notes.append(
            f"Both come from seed {a.plan.seed}: errors that they share cancel, which the test "
            "allows for, but neither is an independent repetition of the other."
        )
    for place, geometry in (("first", a), ("second", b)):
        if not geometry.state.finished:
            notes.append(f"The run of the {place} is not finished: its networks so far count.")
        effective = _effective_networks(geometry)
        if effective < FEW_A_FOLD * FOLDS:
            notes.append(
                f"The {place} is a naive estimate, whose weights leave {effective:.0f} effective "
                f"networks of {geometry.networks:,}: its noise is skewed, and differences are "
                "found too often. Use the integrated estimator."
            )
    return tuple(notes)


def _effective_networks(geometry: Geometry) -> float:
    """The number of equally weighted networks with as much scatter; infinite without weights."""
    plan = geometry.plan
    if geometry.exact or plan.estimator != "naive":
        return math.inf
    schedule = plan.path
    weights = schedule.weights(plan.weighting)[slice(*plan.timesteps)]
    return geometry.networks * float(weights.mean() ** 2 / (weights**2).mean())
