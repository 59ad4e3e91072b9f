"""Comparing two geometries: do they differ beyond their error bars, where, and by how much.

The difference is whitened and split into parts (`whitened_difference`) that are tested by flipping
signs of folds (`sign_flips`). The p-value of *any* difference combines the whole, the scale and the
largest ratio and rotation of all bands; that of *shape* combines the shape, the largest ratio after
subtracting the scale, and the largest rotation.

Folds are compared in pairs, so the two may share draws (equal seeds): pairs stay independent.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..directions import FOLDS
from ..errors import InputError
from ..geometry import Geometry
from .sign_flips import adjusted_p_values, combined_p_value, linear, quadratic, u_statistic
from .whitened_difference import NOISELESS, WhitenedDifference

ROUNDING = 1e-9  # differences below this fraction of the largest eigenvalue are rounding
SMALLEST_LEVEL = 4 * 0.5 ** (FOLDS - 1)  # a p-value combines four statistics
PLANNED = ("network", "schedule", "steps", "probe", "estimator", "weighting", "timesteps")


@dataclass(frozen=True)
class BandDifference:
    """Indices `first` to `last`, inclusive, of the pooled geometry in descending order.

    Attributes:
        ratio: mean eigenvalue of the second geometry over that of the first; None where either has
            nothing.
        rotation: whitened size, for each direction, of what else differs in these directions.
        ratio_p_value: corrected for the number of bands and for testing ratio and rotation.
        rotation_p_value: likewise.
        different: whether either is at or below the level.
    """

    first: int
    last: int
    ratio: float | None
    ratio_error: float | None
    ratio_p_value: float
    rotation: float
    rotation_error: float
    rotation_p_value: float
    different: bool


@dataclass(frozen=True)
class Comparison:
    """The second geometry against the first.

    Attributes:
        different: whether they differ at this level; in shape, if the scale is ignored.
        p_value: of the two being equal.
        distance: |M^{-1/2} (B - A) M^{-1/2}|_F / sqrt(rank), M = (A + B) / 2, without the part of
            the noise in its square, 0 where that leaves less.
        scale: common factor of the second relative to the first.
        scale_p_value: of its being one.
        shape_distance: the distance without the scale.
        shape_p_value: of the two being equal up to a factor.
        whitened_errors: of the two geometries.
        bands: what differs where.
        notes: what else a reader must know, in words.
    """

    different: bool
    level: float
    ignore_scale: bool
    p_value: float
    distance: float
    distance_error: float
    scale: float
    scale_error: float
    scale_p_value: float
    shape_distance: float
    shape_distance_error: float
    shape_p_value: float
    whitened_errors: tuple[float, float]
    bands: tuple[BandDifference, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _PValues:
    any: float
    shape: float
    scale: float
    ratio: Float[np.ndarray, " b"]
    rotation: Float[np.ndarray, " b"]


def compare(
    a: Geometry, b: Geometry, *, level: float = 0.01, ignore_scale: bool = False
) -> Comparison:
    """Compare two geometries of one shape, of any architectures, probes and noise levels.

    Args:
        a: the first.
        b: the second; ratios are its values over the first's.
        level: of significance: equal geometries are told apart in this share of cases.
        ignore_scale: take geometries as equal that differ by a factor, which turns no direction.

    Raises:
        InputError: if the shapes differ, or one has too few networks for error bars.
    """
    if not SMALLEST_LEVEL <= level < 1:
        raise InputError(
            f"the level is at least {SMALLEST_LEVEL:.4f}, which {FOLDS} folds can always reach, "
            f"and below 1: got {level}"
        )
    errors = _usable_error(a), _usable_error(b)
    found = WhitenedDifference.of(a, b)
    p_values = _flipped(found) if len(found.weights) > 1 else _exact(found)
    plain = found.plain or found
    distance, distance_error = _size(found.whole, plain.whole, found.weights, found.rank)
    shape_distance, shape_error = _size(found.shape, plain.shape, found.weights, found.rank)
    scale = float(plain.second.mean() / plain.first.mean())
    _, scale_error = _quotient(found.first.mean(axis=1), found.second.mean(axis=1), found.weights)
    significant = (p_values.shape if ignore_scale else p_values.any) <= level
    rounding = max(_rounding(a), _rounding(b))
    different = significant and (shape_distance if ignore_scale else distance) > rounding
    notes = _notes(a, b)
    if significant and not different:
        notes += (f"The difference is within the rounding of their precision, {rounding:.1g}.",)
    return Comparison(
        different=different,
        level=level,
        ignore_scale=ignore_scale,
        p_value=p_values.any,
        distance=distance,
        distance_error=distance_error,
        scale=scale,
        scale_error=scale_error * scale,
        scale_p_value=p_values.scale,
        shape_distance=shape_distance,
        shape_distance_error=shape_error,
        shape_p_value=p_values.shape,
        whitened_errors=errors,
        bands=_bands(found, p_values, level if different else -1.0),
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


def _flipped(found: WhitenedDifference) -> _PValues:
    """By sign flips."""
    whole, shape = quadratic(np.stack([found.whole, found.shape])).T
    scale, ratio = linear(found.scale[:, None]), linear(found.ratio)
    relative, rotation = linear(_relative(found)), quadratic(found.rotation)
    turned = rotation.max(axis=1)
    return _PValues(
        combined_p_value([whole, scale[:, 0], ratio.max(axis=1), turned]),
        combined_p_value([shape, relative.max(axis=1), turned]),
        float(adjusted_p_values(scale)[0]),
        np.minimum(2 * adjusted_p_values(ratio), 1.0),
        np.minimum(2 * adjusted_p_values(rotation), 1.0),
    )


def _exact(found: WhitenedDifference) -> _PValues:
    """Of two closed forms: 0 where they differ by more than rounding, 1 elsewhere."""
    # The rounding error of the largest eigenvalue, whitened by each band's smallest.
    allowed = ROUNDING * found.eigenvalues.max() / found.eigenvalues[found.edges[1:] - 1]
    ratio = np.abs(found.ratio[0]) <= allowed
    rotation = np.sqrt(found.rotation[:, 0, 0] / found.width) <= allowed
    relative = np.abs(_relative(found)[0]) <= allowed
    return _PValues(
        float((ratio & rotation).all()),
        float((relative & rotation).all()),
        float(abs(found.scale[0]) <= allowed.max()),
        ratio.astype(float),
        rotation.astype(float),
    )


def _relative(found: WhitenedDifference) -> Float[np.ndarray, "K b"]:
    """Ratios without the scale, exactly zero where they are nothing but rounding."""
    rest = found.ratio - found.scale[:, None]
    floor = NOISELESS * np.trace(found.whole) / found.rank
    return np.where(np.sum(rest**2, axis=0) > floor, rest, 0.0)


def _size(
    gram: Float[np.ndarray, "K K"],
    plain: Float[np.ndarray, "1 1"],
    weights: Float[np.ndarray, " K"],
    count: int,
) -> tuple[float, float]:
    """sqrt(U / count) relative to the plain mean, 0 where U is negative, and its standard error."""
    u, error = u_statistic(gram, weights) if len(weights) > 1 else (float(gram[0, 0]), 0.0)
    # U without noise would be gram.sum(), the square that is `plain` relative to the plain mean.
    unit = float(plain[0, 0] / gram.sum() / count) if gram.sum() > 0 else 0.0
    # The error is the upper end's: at U = 0 the root has no derivative.
    low, high = np.sqrt(max(u, 0.0) * unit), np.sqrt((max(u, 0.0) + error) * unit)
    return float(low), float(high - low)


def _quotient(
    first: Float[np.ndarray, " K"],
    second: Float[np.ndarray, " K"],
    weights: Float[np.ndarray, " K"],
) -> tuple[float, float]:
    """The ratio of two means and its *relative* standard error from the spread of the folds."""
    a, b, count = float(weights @ first), float(weights @ second), len(weights)
    spread = weights * (second / b - first / a)
    return b / a, float(np.sqrt(count / max(count - 1, 1) * np.sum(spread**2)))


def _bands(
    found: WhitenedDifference, p_values: _PValues, level: float
) -> tuple[BandDifference, ...]:
    first, second = found.band_means(found.first), found.band_means(found.second)
    plain = (found.plain or found).rotation
    bands = []
    for i, band in enumerate(found.bands):
        # A geometry that has nothing in these directions has no ratio.
        ratio, error = None, None
        if min(found.weights @ first[:, i], found.weights @ second[:, i]) > ROUNDING:
            ratio, relative = _quotient(first[:, i], second[:, i], found.weights)
            error = ratio * relative
        size = _size(found.rotation[i], plain[i], found.weights, int(found.width[i]))
        p_ratio, p_rotation = float(p_values.ratio[i]), float(p_values.rotation[i])
        different = min(p_ratio, p_rotation) <= level
        bands.append(
            BandDifference(
                band.first, band.last, ratio, error, p_ratio, *size, p_rotation, different
            )
        )
    return tuple(bands)


def _rounding(geometry: Geometry) -> float:
    """The whitened distance by which another machine may miss the same geometry."""
    precision = geometry.plan.precision
    if precision is None or precision.features == "float64":
        return ROUNDING
    return precision.allowed if precision.difference is None else precision.difference


def _notes(a: Geometry, b: Geometry) -> tuple[str, ...]:
    """What else differs in how the two were made, and what else to know."""
    plans = [(name, getattr(a.plan, name), getattr(b.plan, name)) for name in PLANNED]
    notes = [f"Made differently: {name} {x} against {y}." for name, x, y in plans if x != y]
    if a.plan.network == b.plan.network and a.plan.fingerprint != b.plan.fingerprint:
        notes.append("Their networks have one name but other parameters or initial values.")
    drawn_alike = (a.plan.seed, a.plan.draws) == (b.plan.seed, b.plan.draws)
    if not (a.exact or b.exact) and drawn_alike:
        notes.append(
            f"Both come from seed {a.plan.seed}: errors that they share cancel, which the test "
            "allows for, but neither is an independent repetition of the other."
        )
    for place, geometry in (("first", a), ("second", b)):
        if not geometry.state.finished:
            notes.append(f"The run of the {place} is not finished: this is about what there is.")
    return tuple(notes)
