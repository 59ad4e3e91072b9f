"""MNIST and other datasets in the IDX format, gzipped or not.

An IDX file of images is a big-endian header and the pixels, one byte each, row by row:

    0x00 0x00 0x08 0x03   two zeros, the type (8: unsigned byte), the number of dimensions (3)
    count, rows, columns  three unsigned 32-bit integers

`size` makes smaller or larger squares without resampling: pixels are averaged over the smallest
whole blocks that fit, and padded with background (28 to 16: blocks of two, one pixel of padding).
"""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from ..errors import InputError
from .arrays import reason, scaled
from .selection import Selection

MAGIC = 0x00000803
LARGEST_SIDE = 1024  # a header with more is taken as corrupt
_HEADER = struct.Struct(">IIII")
_FILES = {"train": "train-images-idx3-ubyte", "held-out": "t10k-images-idx3-ubyte"}


def read_mnist(
    directory: str | Path, selection: Selection, size: int | None = None
) -> Float[np.ndarray, "N 1 H W"]:
    """The images in [-1, 1]: the train files, or the t10k files for the held-out split."""
    path = _find(Path(directory), _FILES[selection.split or "train"])
    images = read_idx(path)
    rows = selection.whole().rows(len(images), str(path))
    images = scaled(images[rows], str(path))
    return (images if size is None else fitted(images, size))[:, None]


def fitted(images: Float[np.ndarray, "N H W"], size: int) -> Float[np.ndarray, "N size size"]:
    """Images averaged over blocks and padded with background (-1) to a square.

    >>> fitted(np.ones((1, 28, 28), dtype=np.float32), 16)[0, :, 8].tolist()[:3]
    [-1.0, 1.0, 1.0]
    """
    side = images.shape[1]
    blocks = [f for f in range(1, side + 1) if side % f == 0 and side // f <= size]
    if not blocks or images.shape[2] != side:
        raise InputError(f"size is at least 1 and needs square images, got {size}")
    small = side // blocks[0]
    means = images.reshape(-1, small, blocks[0], small, blocks[0]).mean(axis=(2, 4))
    before = (size - small) // 2
    after = size - small - before
    return np.pad(means, ((0, 0), *[(before, after)] * 2), constant_values=-1.0)


def read_idx(path: Path) -> UInt8[np.ndarray, "N H W"]:
    """The images of one IDX file."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            header = stream.read(_HEADER.size)
            if len(header) < _HEADER.size:
                raise InputError(f"{path} is truncated: it ends inside its header")
            magic, count, height, width = _HEADER.unpack(header)
            _check_header(path, magic, count, height, width)
            expected = count * height * width
            pixels = stream.read(expected + 1)  # one more byte shows a file that is too long
    except FileNotFoundError as error:
        raise InputError(f"no such file: {path}") from error
    except (OSError, EOFError, zlib.error, MemoryError) as error:
        raise InputError(f"{path} cannot be read ({reason(error)}): fetch it again") from error
    if len(pixels) != expected:
        what = "truncated" if len(pixels) < expected else "too long"
        raise InputError(
            f"{path} is {what}: expected {expected:,} pixels ({count:,} images of "
            f"{height}x{width}), got {len(pixels) if len(pixels) < expected else 'more'}"
        )
    return np.frombuffer(pixels, dtype=np.uint8).reshape(count, height, width)


def _check_header(path: Path, magic: int, count: int, height: int, width: int) -> None:
    if magic != MAGIC:
        raise InputError(
            f"{path} is not an IDX file of images: expected magic {MAGIC:#010x}, got {magic:#010x}"
        )
    if not count or not 1 <= height <= LARGEST_SIDE or not 1 <= width <= LARGEST_SIDE:
        raise InputError(
            f"{path} says {count} images of {height}x{width}: expected at least one image of "
            f"1 to {LARGEST_SIDE} pixels a side"
        )


def _find(directory: Path, name: str) -> Path:
    """The plain file or the gzipped one."""
    if not directory.is_dir():
        raise InputError(f"no such directory: {directory}")
    for path in (directory / name, directory / f"{name}.gz"):
        if path.is_file():
            return path
    raise InputError(f"{directory} has neither {name} nor {name}.gz: put the IDX files there")
