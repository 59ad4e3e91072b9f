"""Checks of the arrays that the distances are given."""

import math

import numpy as np
from jaxtyping import Float

from ..errors import InputError

LARGEST = 1e30  # projections of such values still fit into float32, and their squares into float64


def finite(name: str, values: np.ndarray) -> None:
    """Refuse arrays that are not real floats, and values that are not finite or would overflow."""
    if not np.issubdtype(values.dtype, np.floating):
        raise InputError(
            f"{name} must hold real floats, got {values.dtype}: convert with .astype(np.float32)"
        )
    # Both are NaN if any value is; no copy is made.
    low, high = float(values.min()), float(values.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InputError(f"{name} has non-finite values: remove or repair those rows")
    if max(-low, high) > LARGEST:
        raise InputError(f"{name} has values beyond {LARGEST:g}, which overflow: rescale it")


def sample_pair(
    x: Float[np.ndarray, "N D"], y: Float[np.ndarray, "M D"], *, least: int = 1
) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "M D"]]:
    """Both samples as contiguous arrays of one dtype, float32 or float64."""
    x, y = np.asarray(x), np.asarray(y)
    for name, sample in (("x", x), ("y", y)):
        if sample.ndim != 2:
            raise InputError(
                f"{name} must have shape (samples, D), got {sample.shape}: flatten each sample"
            )
        if sample.shape[0] < least or sample.shape[1] < 1:
            raise InputError(
                f"{name} needs at least {least} sample(s) of at least one value, got {sample.shape}"
            )
        finite(name, sample)
    if x.shape[1] != y.shape[1]:
        raise InputError(
            f"samples must have the same number of values, got {x.shape[1]} in x and"
            f" {y.shape[1]} in y"
        )
    # float16 would overflow and lose digits in the projection; longdouble has no fast product.
    dtype = np.float32 if max(x.dtype.itemsize, y.dtype.itemsize) <= 4 else np.float64
    return np.ascontiguousarray(x, dtype), np.ascontiguousarray(y, dtype)


def direction_norms(
    name: str, directions: Float[np.ndarray, "L D"], size: int
) -> Float[np.ndarray, "L 1"]:
    """The lengths of given directions, in float64 and without a copy of them."""
    if directions.ndim != 2 or directions.shape[0] < 1 or directions.shape[1] != size:
        raise InputError(f"{name} must have shape (L, {size}), got {directions.shape}")
    finite(name, directions)
    norms = np.sqrt(np.einsum("ld,ld->l", directions, directions, dtype=np.float64))
    if not norms.all():
        raise InputError(
            f"row {int(np.argmin(norms))} of {name} is zero: a direction needs a positive norm"
        )
    return norms[:, None]


def at_least(name: str, value: int, least: int) -> int:
    """The value, if it is at least `least`."""
    if value < least:
        raise InputError(f"{name} must be at least {least}, got {value}")
    return value
