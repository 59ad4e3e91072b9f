"""Does a metric follow the eigenvalues? Rank correlations on bands, with seeds paired.

*Units are bands.* Inside a band eigenvectors can be rotated at will, so an index there means
nothing. Values of one band and seed are averaged to y[b, s]; the order of bands by eigenvalue is
x. Neither depends on the basis of a band, nor on how trials are numbered in it. A positive
correlation says that larger eigenvalues go with a larger metric (conjecture 1 for distances).

*Both coefficients from signs.* With S_ij = sign(y_i - y_j), the centred rank of i is
r_i = sum_j S_ij / 2, ties sharing their mean rank, and

    Spearman  = <r_x, r_y> / (|r_x| |r_y|),      Kendall (tau-b) = <S_x, S_y> / (|S_x| |S_y|).

*p-values* are two-sided and exact but for the number of draws: if the metric knows nothing of the
spectrum, all orders of the bands are alike, so the bands of the seeds' means are permuted.

*Intervals* are percentiles of the bootstrap that draws bands and seeds, both with replacement: one
for each band the same seeds, since trials of one seed are paired.

Only seeds that have a result for every direction enter, otherwise means over different seeds would
be compared.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import InputError
from ..randomness import stream
from ..statistics.means import paired_difference
from .store.rows import DONE, METRICS

LEAST_BANDS = 4
CONFIDENCE = 0.95
_BLOCK = 2**22  # entries of sign matrices held at once
_GROUP = ("network", "shape", "rotation", "geometry", "rank", "protocol", "spectrum")

Interval = tuple[float, float]


@dataclass(frozen=True)
class Coefficient:
    """A rank correlation with its two-sided p-value and 95 % interval."""

    value: float
    p_value: float
    interval: Interval


@dataclass(frozen=True)
class Correlation:
    """How a metric follows the eigenvalues, for one network and protocol.

    Attributes:
        about: network, shape, rotation and the like.
        metric: its name.
        bands: how many.
        seeds: those that all directions have.
        spearman: rank correlation.
        kendall: rank correlation, tau-b.
        contrast: largest minus smallest eigenvalue's band: mean over seeds.
        contrast_error: its standard error, paired over seeds; None for one seed.
    """

    about: dict[str, Any]
    metric: str
    bands: int
    seeds: tuple[int, ...]
    spearman: Coefficient
    kendall: Coefficient
    contrast: float
    contrast_error: float | None


def correlate(
    rows: Iterable[Mapping[str, Any]],
    metric: str = "sw2",
    *,
    permutations: int = 9_999,
    resamples: int = 2_000,
    seed: int = 0,
) -> list[Correlation]:
    """Correlations of a metric with eigenvalue rank, one for each group of comparable trials.

    Args:
        rows: of `read_rows`; those without a result or without a place in a spectrum are left out.
        metric: name of a metric.
        permutations: for p-values.
        resamples: for intervals.
        seed: of both.

    Raises:
        InputError: if there is nothing to correlate.
    """
    if metric not in METRICS:
        raise InputError(f"a metric is {', '.join(METRICS)}; got {metric!r}")
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        known = row["status"] == DONE and row[metric] is not None
        if known and row["band_first"] is not None:
            key = json.dumps([row[name] for name in _GROUP], sort_keys=True)
            groups.setdefault(key, []).append(row)
    found = [
        _correlation(members, metric, permutations, resamples, seed) for members in groups.values()
    ]
    if not (whole := [correlation for correlation in found if correlation is not None]):
        raise InputError(
            f"nothing to correlate: it needs finished trials along at least {LEAST_BANDS} bands of "
            "a geometry, with a seed that all of them have"
        )
    return whole


def _correlation(
    rows: Sequence[Mapping[str, Any]], metric: str, permutations: int, resamples: int, seed: int
) -> Correlation | None:
    seeds, table, order = _table(rows, metric)
    if len(table) < LEAST_BANDS or not seeds:
        return None
    generator = stream(seed, "significance of a correlation")
    observed = coefficients(order, table.mean(axis=1))
    by_chance = permuted(order, table.mean(axis=1), permutations, generator)
    redrawn = bootstrapped(order, table, resamples, generator)
    spearman, kendall = (
        Coefficient(float(value), _p_value(value, chance), _interval(again))
        for value, chance, again in zip(observed, by_chance.T, redrawn.T, strict=True)
    )
    largest, smallest = (
        dict(zip(seeds, table[band].tolist(), strict=True)) for band in (0, len(table) - 1)
    )
    contrast, error = paired_difference(largest, smallest)
    about = {name: rows[0][name] for name in _GROUP}
    return Correlation(about, metric, len(table), seeds, spearman, kendall, contrast, error)


def _table(
    rows: Sequence[Mapping[str, Any]], metric: str
) -> tuple[tuple[int, ...], Float[np.ndarray, "b s"], Float[np.ndarray, " b"]]:
    """Seeds, y[b, s] with the largest eigenvalue first, and the order x of the bands."""
    directions: dict[str, dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        directions.setdefault(row["data"], {})[row["seed"]] = row
    common = set.intersection(*({*by_seed} for by_seed in directions.values()))
    seeds = tuple(sorted(common))
    bands: dict[int, list[list[float]]] = {}
    for by_seed in directions.values():
        first = next(iter(by_seed.values()))["band_first"]
        bands.setdefault(first, []).append([by_seed[s][metric] for s in seeds])
    places = sorted(bands)
    table = np.array([np.mean(bands[place], axis=0) for place in places]).reshape(
        len(places), len(seeds)
    )
    return seeds, table, -np.arange(len(places), dtype=float)


def signs(values: Float[np.ndarray, "*B n"]) -> Float[np.ndarray, "*B n n"]:
    """S_ij = sign(y_i - y_j)."""
    return np.sign(values[..., :, None] - values[..., None, :]).astype(np.float32)


def coefficients(
    x: Float[np.ndarray, "*A n"], y: Float[np.ndarray, "*B n"]
) -> Float[np.ndarray, "*B 2"]:
    """Spearman and Kendall correlation of each pair of rows; NaN where one is constant."""
    a, b = signs(x), signs(y)
    ranks = a.sum(axis=-1, dtype=float), b.sum(axis=-1, dtype=float)
    spearman = _cosine(*ranks, axes=(-1,))
    return np.stack([spearman, _cosine(a, b, axes=(-2, -1))], axis=-1)


def _cosine(a: np.ndarray, b: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    product = (a * b).sum(axis=axes, dtype=float)
    square = (a * a).sum(axis=axes, dtype=float) * (b * b).sum(axis=axes, dtype=float)
    with np.errstate(invalid="ignore"):
        return np.asarray(product / np.sqrt(square))


def permuted(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " n"],
    count: int,
    generator: np.random.Generator,
) -> Float[np.ndarray, "count 2"]:
    """The coefficients under random orders of y."""
    parts = []
    for size in _sizes(count, len(x)):
        order = generator.permuted(np.tile(np.arange(len(y)), (size, 1)), axis=1)
        parts.append(coefficients(x, y[order]))
    return np.concatenate(parts)


def bootstrapped(
    x: Float[np.ndarray, " b"],
    table: Float[np.ndarray, "b s"],
    count: int,
    generator: np.random.Generator,
) -> Float[np.ndarray, "count 2"]:
    """The coefficients for bands and seeds drawn with replacement."""
    parts = []
    for size in _sizes(count, len(x)):
        bands = generator.integers(len(x), size=(size, len(x)))
        seeds = generator.integers(table.shape[1], size=(size, table.shape[1]))
        means = table[:, seeds].mean(axis=2).T  # (size, b)
        parts.append(coefficients(x[bands], np.take_along_axis(means, bands, axis=1)))
    return np.concatenate(parts)


def _sizes(count: int, bands: int) -> list[int]:
    """Draws at a time, so that memory stays bounded."""
    most = max(1, _BLOCK // bands**2)
    return [min(most, count - start) for start in range(0, count, most)]


def _p_value(value: float, chance: Float[np.ndarray, " n"]) -> float:
    if math.isnan(value):
        return 1.0
    reached = int((np.abs(chance) >= abs(value) - 1e-9).sum())
    return (1 + reached) / (1 + len(chance))


def _interval(draws: Float[np.ndarray, " n"]) -> Interval:
    known = draws[~np.isnan(draws)]
    if not len(known):
        return math.nan, math.nan
    low, high = np.quantile(known, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
