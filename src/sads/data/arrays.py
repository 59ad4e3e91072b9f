"""Samples in NumPy files. Nothing is unpickled, and every value is checked."""

import zipfile
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ..errors import InputError


def read_npy(path: str | Path) -> Float[np.ndarray, "..."]:
    """The array in a `.npy` file, as float32, with its values kept."""
    return _checked(_open(path), str(path))


def read_npz(path: str | Path, key: str | None = None) -> Float[np.ndarray, "..."]:
    """One array of a `.npz` file, as float32, with its values kept.

    Args:
        path: the file.
        key: which array; may be left out where there is only one.
    """
    with _open(path) as archive:
        if isinstance(archive, np.ndarray):
            raise InputError(f"{path} holds a single array: name it as npy:{path}")
        names = list(archive.files)
        if key is None and len(names) == 1:
            key = names[0]
        if key not in names:
            found = ", ".join(names) or "none"
            raise InputError(f"{path} has the arrays {found}: name one as npz:{path}:KEY")
        try:
            return _checked(archive[key], f"{path}:{key}")
        except (ValueError, OSError, zipfile.BadZipFile) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path}:{key} cannot be read: {error}") from error


def _open(path: str | Path):
    try:
        return np.load(path, allow_pickle=False)
    except FileNotFoundError as error:
        raise InputError(f"no such file: {path}") from error
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} is not a readable NumPy file: {reason}") from error


def _checked(array: object, name: str) -> Float[np.ndarray, "..."]:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold numbers")
    values = array.astype(np.float32)
    if not np.isfinite(values).all():
        raise InputError(f"{name} has NaN or infinite values: clean it first")
    return values
