"""Strings to samples: `digits[,size=16]`, `npy:FILE`, `npz:FILE[:KEY]`; `count=`, `seed=`."""

import math

import numpy as np
from jaxtyping import Float

from ..data import read_digits, read_npy, read_npz
from ..errors import InputError
from .grammar import convert, split_fields

KNOWN = "digits[,size=16], npy:FILE or npz:FILE[:KEY]"


def parse_data(text: str, *, shape: tuple[int, ...]) -> Float[np.ndarray, "N ..."]:
    """The samples that a string names, of the given shape.

    Args:
        text: the specification; `count` and `seed` draw that many without replacement.
        shape: shape of one sample, to which digits are resized.
    """
    name, fields = split_fields(text)
    kind, _, rest = name.partition(":")
    count = fields.pop("count", None)
    seed = convert("seed", fields.pop("seed", "0"), int)
    if kind == "digits" and not rest:
        side = convert("size", fields.pop("size", str(shape[-1])), int)
        samples = read_digits(side)
    elif kind == "npy" and rest:
        samples = read_npy(rest)
    elif kind == "npz" and rest:
        path, _, key = rest.partition(":")
        samples = read_npz(path, key or None)
    else:
        raise InputError(f"unknown data {text!r}: expected {KNOWN}")
    if fields:
        raise InputError(f"{kind} data has no field {next(iter(fields))!r}")
    samples = _shaped(samples, shape, text)
    return samples if count is None else _draw(samples, convert("count", count, int), seed, text)


def _shaped(samples: np.ndarray, shape: tuple[int, ...], text: str) -> np.ndarray:
    """Accept (N, *shape), and (N, H, W) for one channel."""
    if samples.shape[1:] == shape:
        return samples
    if shape[0] == 1 and samples.shape[1:] == shape[1:]:
        return samples[:, None]
    expected, got = "x".join(map(str, shape)), "x".join(map(str, samples.shape[1:]))
    raise InputError(
        f"{text} has samples of shape {got or 'a single number'}, expected {expected} "
        f"({math.prod(shape)} values): resize the data or pass a matching --shape"
    )


def _draw(samples: np.ndarray, count: int, seed: int, text: str) -> np.ndarray:
    if not 1 <= count <= len(samples):
        raise InputError(f"{text} asks for {count} samples of {len(samples)}")
    return samples[np.random.default_rng(seed).permutation(len(samples))[:count]]
