"""Image datasets of a figure, at the size of its scale.

A dataset is read once, averaged over blocks, and kept beside the trials under a name that depends
on its content. A sixth is held out; the paper's 10,000 training samples are drawn from the rest by
the seed of the training.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ..errors import ArtefactError, InputError
from ..specs import DataSpec
from ..specs.coercion import as_dataset
from ..storage.files import atomic_write, write_bytes
from ..storage.sealed import seal_json, unseal_json
from .data import Request

MOST = 60_000  # samples of a dataset: with a sixth held out, 10,000 to compare with
LEAST_FILLED = 0.8  # of the side of a picture; the rest is background


def prepared(request: Request, name: str, source: str, shape: tuple[int, ...]) -> Path:
    """The file of a dataset at the size of the scale; it is written if it is missing."""
    content = hashlib.sha256(DataSpec.parse(source).digest().encode()).hexdigest()[:8]
    path = request.work("data", f"{name}-{content}.npy")

    def made() -> np.ndarray:
        request.say(f"reading {source}")
        return shrunk(as_dataset(source).samples[:MOST], shape)

    keep_array(path, made)
    return path


def keep_array(path: Path, make: Callable[[], np.ndarray]) -> None:
    """Write an array, unless its file is there and undamaged."""
    note = path.with_suffix(".json")  # NumPy's format has no room for a checksum
    with suppress(ArtefactError, OSError):
        if unseal_json(note.read_bytes(), note).get("sha256") == _file_digest(path):
            return
    samples = make()

    def save(place: Path) -> None:
        with place.open("wb") as stream:
            np.save(stream, samples, allow_pickle=False)

    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, save)
    atomic_write(note, write_bytes(seal_json({"sha256": _file_digest(path)})))


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def shrunk(
    samples: Float[np.ndarray, "N C H W"], shape: tuple[int, ...]
) -> Float[np.ndarray, "N C h w"]:
    """Images averaged over the smallest blocks that fit, with a little background around.

    >>> shrunk(np.ones((1, 1, 28, 28), dtype=np.float32), (1, 16, 16))[0, 0, 8, :3].tolist()
    [-1.0, 1.0, 1.0]
    """
    wanted, got = ("x".join(map(str, size)) for size in (shape, samples.shape[1:]))
    channels, *sides = samples.shape[1:]
    if samples.ndim != 4 or channels != shape[0] or len({*sides}) > 1 or sides[0] < shape[1]:
        raise InputError(f"expected square images of at least {wanted}, got {got}")
    block = next(
        b for b in range(1, sides[0] + 1) if sides[0] % b == 0 and sides[0] // b <= shape[1]
    )
    small = sides[0] // block
    if small < LEAST_FILLED * shape[1]:
        raise InputError(
            f"images of {got} cannot be averaged over blocks to {wanted}: resize them to a "
            f"multiple of {shape[1]} first (size={2 * shape[1]} for a folder)"
        )
    means = samples.reshape(-1, channels, small, block, small, block).mean(axis=(3, 5))
    before = (shape[1] - small) // 2
    around = (before, shape[1] - small - before)
    return np.pad(means, ((0, 0), (0, 0), around, around), constant_values=-1.0)
