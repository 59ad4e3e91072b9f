"""Rank correlations of Spearman and Kendall, and how far two halves of the data agree.

*Both coefficients follow from signs.* With S_ij = sign(y_i - y_j), the centred rank of i is
r_i = sum_j S_ij / 2, where ties share their mean rank, and

    Spearman  = <r_x, r_y> / (|r_x| |r_y|),      Kendall (tau-b) = <S_x, S_y> / (|S_x| |S_y|).

*Reliability.* If rho is the correlation between two halves of the data, the correlation between two
whole datasets is 2 rho / (1 + rho) (Spearman and Brown).
"""

import numpy as np
from jaxtyping import Float, Real

_BLOCK = 2**22  # entries of sign matrices held at once


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


def rank_correlation(x: Real[np.ndarray, " n"], y: Real[np.ndarray, " n"]) -> float:
    """Spearman's correlation; NaN where x or y is constant.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, 9.0]))
    1.0
    """
    return float(coefficients(np.asarray(x, float), np.asarray(y, float))[0])


def reliability(first: Float[np.ndarray, " n"], second: Float[np.ndarray, " n"]) -> float:
    """Spearman's correlation between estimates from two halves, corrected to the whole data.

    >>> round(reliability(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])), 4)
    0.8889
    """
    halves = rank_correlation(first, second)
    return 2 * halves / (1 + halves) if halves > 0 else halves


def permuted(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " n"],
    count: int,
    generator: np.random.Generator,
) -> Float[np.ndarray, "count 2"]:
    """Both coefficients under random orders of y, for `resampling.p_value`."""
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
    """Both coefficients of x and the means of a table, in bootstrap samples of units and seeds.

    Units b and seeds s are drawn with replacement. The seeds are the same for every unit, because
    values of one seed are paired.
    """
    parts = []
    for size in _sizes(count, len(x)):
        units = generator.integers(len(x), size=(size, len(x)))
        seeds = generator.integers(table.shape[1], size=(size, table.shape[1]))
        means = table[:, seeds].mean(axis=2).T  # (size, b)
        parts.append(coefficients(x[units], np.take_along_axis(means, units, axis=1)))
    return np.concatenate(parts)


def _sizes(count: int, units: int) -> list[int]:
    """The sizes of the blocks in which draws are made, so that memory stays bounded."""
    most = max(1, _BLOCK // units**2)
    return [min(most, count - start) for start in range(0, count, most)]
