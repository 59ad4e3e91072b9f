"""Samples in NumPy files. Nothing is unpickled, and every value is checked."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy.lib.npyio import NpzFile

from ..errors import InputError
from ..storage.files import regular_file

CHANNELS = "channels"
Scale = bool | float | Literal["channels"]


def read_npy(path: str | Path, *, scale: Scale = False) -> Float[np.ndarray, "..."]:
    """The array in a `.npy` file, as float32.

    Args:
        path: the file.
        scale: maps the values to [-1, 1], see `scaled`. A number multiplies them, and `channels`
            gives each channel mean 0 and standard deviation 1, see `standardised`. By default
            values are kept whatever their range, as is right for latents of an autoencoder.
    """
    with _opened(path) as array:
        if not isinstance(array, np.ndarray):
            raise InputError(f"{path} holds several arrays: name one as npz:{path}:KEY")
    return _checked(array, str(path), scale)


def read_npz(
    path: str | Path, key: str | None = None, *, scale: Scale = False
) -> Float[np.ndarray, "..."]:
    """One array of a `.npz` file, as float32.

    Args:
        path: the file.
        key: the array; may be left out if there is only one.
        scale: as for `read_npy`.
    """
    with _opened(path) as archive:
        if isinstance(archive, np.ndarray):
            raise InputError(f"{path} holds a single array: name it as npy:{path}")
        names = list(archive.files)
        if key is None and len(names) == 1:
            key = names[0]
        if key not in names:
            listed = ", ".join(names) or "none"
            raise InputError(f"{path} has the arrays {listed}: name one as npz:{path}:KEY")
        array = archive[key]
    return _checked(array, f"{path}:{key}", scale)


def read_arrays(path: str | Path) -> dict[str, Float[np.ndarray, "..."]]:
    """All arrays of a `.npz` file by name, as float64."""
    with _opened(path) as archive:
        if isinstance(archive, np.ndarray):
            raise InputError(f"{path} holds a single array, expected several by name (.npz)")
        stored = {name: archive[name] for name in archive.files}
    return {n: _checked(a, f"{path}:{n}", False).astype(float) for n, a in stored.items()}


def scaled(values: np.ndarray, name: str) -> Float[np.ndarray, "..."]:
    """Values mapped linearly to [-1, 1]: bytes from 0..255, others from their own range.

    >>> scaled(np.array([0, 255], dtype=np.uint8), "bytes").tolist()
    [-1.0, 1.0]
    """
    if values.dtype == np.uint8:
        return values.astype(np.float32) / np.float32(127.5) - np.float32(1)
    low, high = float(values.min()), float(values.max())
    if not 0 < high - low < float("inf"):
        raise InputError(
            f"{name} has values from {low:g} to {high:g}: they cannot be scaled to [-1, 1]"
        )
    unit = (values.astype(np.float64) - low) / (high - low)
    return (2 * unit - 1).astype(np.float32)


def standardised(values: np.ndarray, name: str) -> Float[np.ndarray, "N ..."]:
    """Every channel of (N, C, *sides), or every entry of (N, D), with mean 0 and deviation 1.

    >>> standardised(np.array([[[1.0, 3.0], [5.0, 9.0]]]), "two channels").tolist()
    [[[-1.0, 1.0], [-1.0, 1.0]]]
    """
    result = np.empty(values.shape, np.float32)
    for c in range(values.shape[1] if values.ndim > 1 else 0):
        channel = values[:, c].astype(np.float64)  # one at a time, for memory
        spread = channel.std()
        if not 0 < spread < float("inf"):
            raise InputError(f"channel {c} of {name} is constant: it cannot be standardised")
        result[:, c] = (channel - channel.mean()) / spread
    if values.ndim < 2:
        raise InputError(f"{name} has no channels: expected samples along the first axis")
    return result


@contextmanager
def _opened(path: str | Path) -> Iterator[np.ndarray | NpzFile]:
    """The content of a file, open while it is read; NumPy would leave a broken file open."""
    try:
        with regular_file(path).open("rb") as stream:
            yield np.load(stream, allow_pickle=False)
    except InputError:
        raise
    except Exception as error:  # zipfile, zlib, tokenize and others raise their own errors
        raise InputError(f"{path} is not a readable NumPy file: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """The first line of an error's message."""
    text = str(error).splitlines()
    return text[0] if text else type(error).__name__


def _checked(array: object, name: str, scale: Scale) -> Float[np.ndarray, "..."]:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold numbers")
    if array.size == 0:
        raise InputError(f"{name} is empty: expected samples along the first axis")
    if not np.isfinite(array).all():
        raise InputError(f"{name} has NaN or infinite values: clean it first")
    if scale is True:
        return scaled(array, name)
    if scale == CHANNELS:
        return standardised(array, name)
    with np.errstate(over="ignore"):  # reported below, as an error
        values = array.astype(np.float32)
        if scale is not False:
            values *= np.float32(scale)
    if not np.isfinite(values).all():
        raise InputError(f"{name} has values too large for float32: rescale it first")
    return values
