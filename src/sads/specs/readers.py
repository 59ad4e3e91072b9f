"""The readers behind the grammar of data: they read the samples that a specification names.

A reader is a function `read(where, selection, shape, **options)` that returns an array of samples
along its first axis, or a `Dataset`. `where` is the text after the colon, `selection` says which
samples are wanted (split, count, seed), `shape` is the shape that the caller expects of a sample,
or None. The options that the grammar takes are the keyword-only parameters of the function, with
the types that it declares. Readers of other packages are called in the same way.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..data import (
    Dataset,
    Selection,
    Treatment,
    read_digits,
    read_folder,
    read_hugging_face,
    read_mnist,
    read_npy,
    read_npz,
)
from ..data.arrays import CHANNELS, Scale
from ..errors import InputError
from ..foundation.signatures import same_arguments
from . import plug_ins
from .data import DataSpec
from .grammar import convert
from .synthetic import MAKERS

KNOWN = (
    "digits[,size=16], mnist:DIR[,size=16], npy:FILE, npz:FILE[:KEY], folder:DIR[,size=56,grey], "
    "hf:NAME[:SPLIT], rank-one:dct:I, rank-one:geometry=DIR:I, rank-one:geometry=DIR:band=K, "
    "sphere:geometry=DIR:I,J,K, gaussian, gaussian:moment=DATA or mixture:FILE.npz"
)
Shape = tuple[int, ...] | None
Reader = Callable[..., "np.ndarray | Dataset"]


def read_dataset(spec: DataSpec, selection: Selection, shape: Shape) -> Dataset:
    """The dataset of a specification; see `DataSpec.dataset`."""
    maker, reader = MAKERS.get(spec.kind), READERS.get(spec.kind)
    ours = maker is not None or reader is not None
    # All but digits and white noise need something after the colon; digits have nothing there.
    if ours and spec.kind != "gaussian" and (spec.kind == "digits") == bool(spec.where):
        raise _unknown(spec)
    try:
        if maker is not None:
            return maker(spec, selection, shape)
        reader = reader or plug_ins.plug_in(plug_ins.DATA, spec.kind)
        if reader is None:
            raise _unknown(spec)
        samples = reader(spec.where or "", selection, shape, **_options(spec, reader))
    except MemoryError as error:
        raise InputError(f"{spec} needs more memory than there is: lower count") from error
    if isinstance(samples, Dataset):
        return samples
    return Dataset(_shaped(np.asarray(samples, np.float32), shape, str(spec)), str(spec))


def _unknown(spec: DataSpec) -> InputError:
    known = KNOWN + plug_ins.others(plug_ins.DATA)
    return InputError(f"unknown data {str(spec)!r}: expected {known}")


def _options(spec: DataSpec, reader: Reader) -> dict[str, Any]:
    """The options of a text in the types that its reader declares."""
    parameters = inspect.signature(reader, eval_str=True).parameters.values()
    types = {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY}
    return {n: convert(n, value, types[n]) for n, value in spec.own_fields(types).items()}


def _digits(
    where: str, selection: Selection, shape: Shape, *, size: int | None = None
) -> np.ndarray:
    images = read_digits((shape[-1] if shape else 8) if size is None else size)
    return images[selection.rows(len(images), "digits")]


def _mnist(
    where: str, selection: Selection, shape: Shape, *, size: int | None = None
) -> np.ndarray:
    return read_mnist(where, selection, size)


def _npy(where: str, selection: Selection, shape: Shape, *, scale: str = "false") -> np.ndarray:
    return _rows(read_npy(where, scale=_scale(scale)), selection, where)


def _npz(where: str, selection: Selection, shape: Shape, *, scale: str = "false") -> np.ndarray:
    path, key = DataSpec(kind="npz", where=where).file()
    return _rows(
        read_npz(path, key.removeprefix(":") or None, scale=_scale(scale)), selection, where
    )


def _scale(text: str) -> Scale:
    """`scale`, `scale=channels` or `scale=0.18215`."""
    if text == CHANNELS:
        return CHANNELS
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0 < abs(factor) < math.inf:
        raise InputError(f"scale is channels, a number that is not zero, or alone; got {text!r}")
    return factor


def _rows(array: np.ndarray, selection: Selection, name: str) -> np.ndarray:
    if array.ndim == 0:
        raise InputError(f"{name} is a single number: expected samples along the first axis")
    return array if selection == Selection() else array[selection.rows(len(array), name)]


def _folder(
    where: str,
    selection: Selection,
    shape: Shape,
    *,
    size: int | None = None,
    grey: bool = False,
    crop: bool = False,
    skip_corrupt: bool = False,
) -> np.ndarray:
    return read_folder(where, Treatment(size, grey, crop, skip_corrupt), selection)


@same_arguments(_folder)
def _hugging_face(where: str, selection: Selection, shape: Shape, **treatment: Any) -> np.ndarray:
    name, part = DataSpec(kind="hf", where=where).file()
    part = part.removeprefix(":") or "train"
    return read_hugging_face(name, part, Treatment(**treatment), selection)


READERS: dict[str, Reader] = {
    "digits": _digits,
    "mnist": _mnist,
    "npy": _npy,
    "npz": _npz,
    "folder": _folder,
    "hf": _hugging_face,
}


def _shaped(samples: np.ndarray, shape: Shape, name: str) -> np.ndarray:
    """Accept (N, *shape), and (N, H, W) for one channel, even if no shape is asked for."""
    own = samples.shape[1:]
    if shape is None:
        if not 1 <= len(own) <= 4:
            raise InputError(
                f"{name} has an array of {samples.ndim} axes: expected samples along the first "
                "axis and 1 to 4 more (CxHxW, CxTxHxW)"
            )
        return samples[:, None] if len(own) == 2 else samples
    if own == shape:
        return samples
    if shape[0] == 1 and own == shape[1:]:
        return samples[:, None]
    expected, got = "x".join(map(str, shape)), "x".join(map(str, own))
    raise InputError(
        f"{name} has samples of shape {got or 'a single number'}, expected {expected} "
        f"({math.prod(shape)} values, channels first): resize the data or give another shape"
    )
