"""Does a metric follow the eigenvalues? Rank correlations on bands, with seeds paired.

*Units are bands.* Inside a band the eigenvectors may be rotated freely, so an index there means
nothing. Values of one band and seed are averaged to y[b, s]; the order of bands by eigenvalue is
x. Neither depends on the basis of a band, nor on how trials are numbered in it. A positive
correlation says that larger eigenvalues go with a larger metric (conjecture 1 for distances).

*p-values* are two-sided, and exact up to the number of draws: if the metric is independent of the
spectrum, all orders of the bands are equally likely, so the bands are permuted in the means over
seeds.

*Intervals* are percentiles of a bootstrap that draws bands and seeds with replacement. It draws the
same seeds for every band, since trials of one seed are paired.

Only seeds with a result for every direction are used; otherwise means over different seeds would be
compared.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import InputError
from ..randomness import stream
from ..statistics.means import Interval, paired_difference, paired_values
from ..statistics.ranks import bootstrapped, coefficients, permuted
from ..statistics.resampling import p_value, percentiles
from .store.rows import DONE, METRICS

LEAST_BANDS = 4
_TIE = 1e-9  # coefficients this close are equal: they differ by rounding
_GROUP = ("network", "shape", "rotation", "geometry", "rank", "protocol", "spectrum")


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
        bands: the number of bands.
        seeds: the seeds with a result for every direction.
        spearman: rank correlation.
        kendall: rank correlation, tau-b.
        contrast: the mean over seeds of the metric in the band of the largest eigenvalue, minus
            that in the band of the smallest.
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
        rows: from `read_rows`; those without a result or without a place in a spectrum are left
            out.
        metric: the name of a metric.
        permutations: the number of permutations, for p-values.
        resamples: the number of bootstrap samples, for intervals.
        seed: the seed of both.

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
    tried = [
        _correlation(members, metric, permutations, resamples, seed) for members in groups.values()
    ]
    if not (correlations := [one for one in tried if one is not None]):
        raise InputError(
            f"nothing to correlate: it needs finished trials along at least {LEAST_BANDS} bands of "
            "a geometry, with a seed that all bands share"
        )
    return correlations


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
        Coefficient(float(value), p_value(abs(value), np.abs(chance), tie=_TIE), percentiles(again))
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
    seeds, values = paired_values((row["data"], row["seed"], row[metric]) for row in rows)
    first = {row["data"]: row["band_first"] for row in rows}
    bands: dict[int, list[list[float]]] = {}
    for data, by_seed in values.items():
        bands.setdefault(first[data], []).append(by_seed)
    places = sorted(bands)
    table = np.array([np.mean(bands[place], axis=0) for place in places]).reshape(
        len(places), len(seeds)
    )
    return seeds, table, -np.arange(len(places), dtype=float)
