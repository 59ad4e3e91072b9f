"""Strings to data.

| data                           | samples                                                        |
|--------------------------------|----------------------------------------------------------------|
| `digits[,size=16]`             | 1,797 digits of 1x8x8, or resized                              |
| `mnist:DIR[,size=16]`          | the IDX files in a directory; averaged over blocks and padded  |
| `npy:FILE`, `npz:FILE[:KEY]`   | an array; `scale` maps its values to [-1, 1]                   |
| `folder:DIR`                   | pictures; `size=56`, `grey`, `crop`, `skip-corrupt`            |
| `hf:NAME[:SPLIT]`              | pictures of a Hugging Face dataset; options of folders         |
| `rank-one:BASIS:I`             | x = sqrt(D) g v; canonical, dct, dst, hadamard or haar         |
| `rank-one:geometry=DIR:I`      | v is eigenvector I, 0 for the largest eigenvalue               |
| `rank-one:geometry=DIR:band=K` | v is drawn by the seed from the subspace of band K             |
| `sphere:SOURCE:I,J,K`          | a sphere in three directions of a basis or of `geometry=DIR`   |
| `sphere:geometry=DIR:band=K`   | the three are drawn by the seed from the subspace of band K    |
| `gaussian`                     | N(0, I)                                                        |
| `gaussian:moment=DATA`         | N(0, C), C the second moment of that data's training split     |

Options of all: `count=`, `seed=`, `split=train|held-out`. Without a split a finite set is whole
(MNIST: its train files). Rank-one and sphere data have 10,000 samples unless `count` says
otherwise.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..alignment.moments import second_moment
from ..data import (
    Dataset,
    Normal,
    Selection,
    Treatment,
    read_digits,
    read_folder,
    read_hugging_face,
    read_mnist,
    read_npy,
    read_npz,
    split_stream,
)
from ..errors import InputError
from .grammar import convert, split_fields
from .synthetic import DEFAULT_COUNT, SYNTHETIC, parse_synthetic

KNOWN = (
    "digits[,size=16], mnist:DIR[,size=16], npy:FILE, npz:FILE[:KEY], folder:DIR[,size=56,grey], "
    "hf:NAME[:SPLIT], rank-one:dct:I, rank-one:geometry=DIR:I, rank-one:geometry=DIR:band=K, "
    "sphere:geometry=DIR:I,J,K, gaussian or gaussian:moment=DATA"
)
Shape = tuple[int, ...] | None
Options = dict[str, Any]


def parse_data(
    text: str, *, shape: Shape = None, split: str | None = None
) -> Float[np.ndarray, "N ..."]:
    """The samples that a string names; see `parse_dataset`."""
    return parse_dataset(text, shape=shape, split=split).samples


def parse_dataset(text: str, *, shape: Shape = None, split: str | None = None) -> Dataset:
    """The data that a string names.

    Args:
        text: the specification.
        shape: shape of one sample; needed where the data does not tell it, checked where it does.
        split: the split to use where the text names none.

    >>> parse_dataset("digits,count=100,split=held-out").samples.shape
    (100, 1, 8, 8)
    """
    name, fields = _split(text)
    kind, _, rest = name.partition(":")
    if kind not in _OPTIONS or (kind != "gaussian" and (kind == "digits") == bool(rest)):
        raise InputError(f"unknown data {text!r}: expected {KNOWN}")
    selection = _selection(fields, split)
    if kind == "gaussian":
        return _gaussian(text, rest, fields, selection, shape)
    options = _options(kind, fields)
    try:
        if kind in SYNTHETIC:
            return parse_synthetic(text, kind, rest, selection, shape)
        samples = _READERS[kind](rest, options, selection, shape)
    except MemoryError as error:
        raise InputError(f"{text} needs more memory than there is: lower count") from error
    return Dataset(_shaped(samples, shape, text), text)


def _gaussian(
    text: str, rest: str, fields: dict[str, str], selection: Selection, shape: Shape
) -> Dataset:
    """N(0, I), or N(0, C) with the second moment C of other data, whose options they are."""
    if rest and not rest.startswith("moment="):
        raise InputError(f"gaussian data is gaussian or gaussian:moment=DATA, got {text!r}")
    if rest:
        inner = ",".join([rest.removeprefix("moment="), *(f"{k}={v}" for k, v in fields.items())])
        known = parse_dataset(inner, shape=shape, split="train")
        law, own = Normal.of_moment(second_moment(known, known.shape).matrix), known.shape
    elif fields or shape is None:
        what = f"it has no option {next(iter(fields))!r}" if fields else "pass --shape CxHxW"
        raise InputError(f"{text} does not say its shape: {what}")
    else:
        law, own = Normal.white(math.prod(shape)), shape
    count = DEFAULT_COUNT if selection.count is None else selection.count
    samples = law.draw(count, split_stream(selection.seed, selection.split or "train"))
    return Dataset(samples.astype(np.float32).reshape(count, *own), text, law=law)


def _split(text: str) -> tuple[str, dict[str, str]]:
    """The name and its options; indices after commas (`sphere:dct:1,2,3`) belong to the name."""
    name, *parts = text.split(",")
    while parts and parts[0].strip().lstrip("-").isdigit():
        name += f",{parts.pop(0).strip()}"
    return name.strip(), split_fields(",".join(["", *parts]))[1]


def _selection(fields: dict[str, str], split: str | None) -> Selection:
    count = fields.pop("count", None)
    return Selection(
        split=fields.pop("split", split),
        count=None if count is None else convert("count", count, int),
        seed=convert("seed", fields.pop("seed", "0"), int),
    )


def _options(kind: str, fields: dict[str, str]) -> Options:
    known = _OPTIONS[kind]
    for field in fields:
        if field not in known:
            takes = ", ".join([*known, "count", "seed", "split"]).replace("_", "-")
            raise InputError(f"{kind} data has no option {field!r}: it takes {takes}")
    return {field: convert(field, value, known[field]) for field, value in fields.items()}


def _digits(rest: str, options: Options, selection: Selection, shape: Shape) -> np.ndarray:
    images = read_digits(options.get("size", shape[-1] if shape else 8))
    return images[selection.rows(len(images), "digits")]


def _mnist(rest: str, options: Options, selection: Selection, shape: Shape) -> np.ndarray:
    return read_mnist(rest, selection, **options)


def _npy(rest: str, options: Options, selection: Selection, shape: Shape) -> np.ndarray:
    return _rows(read_npy(rest, **options), selection, rest)


def _npz(rest: str, options: Options, selection: Selection, shape: Shape) -> np.ndarray:
    path, key = rest, None
    if ":" in rest and not Path(rest).exists():
        path, _, key = rest.rpartition(":")
    return _rows(read_npz(path, key, **options), selection, rest)


def _rows(array: np.ndarray, selection: Selection, name: str) -> np.ndarray:
    if array.ndim == 0:
        raise InputError(f"{name} is a single number: expected samples along the first axis")
    return array if selection == Selection() else array[selection.rows(len(array), name)]


def _folder(rest: str, options: Options, selection: Selection, shape: Shape) -> np.ndarray:
    return read_folder(rest, Treatment(**options), selection)


def _hugging_face(rest: str, options: Options, selection: Selection, shape: Shape) -> np.ndarray:
    name, _, part = rest.partition(":")
    return read_hugging_face(name, part or "train", Treatment(**options), selection)


_READERS: dict[str, Callable[[str, Options, Selection, Shape], np.ndarray]] = {
    "digits": _digits,
    "mnist": _mnist,
    "npy": _npy,
    "npz": _npz,
    "folder": _folder,
    "hf": _hugging_face,
}
_TREATMENT = {"size": int, "grey": bool, "crop": bool, "skip_corrupt": bool}
_OPTIONS: dict[str, dict[str, type]] = {
    "digits": {"size": int},
    "mnist": {"size": int},
    "npy": {"scale": bool},
    "npz": {"scale": bool},
    "folder": _TREATMENT,
    "hf": _TREATMENT,
    **{kind: {} for kind in (*SYNTHETIC, "gaussian")},
}


def _shaped(samples: np.ndarray, shape: Shape, text: str) -> np.ndarray:
    """Accept (N, *shape), and (N, H, W) for one channel, also where no shape is asked for."""
    own = samples.shape[1:]
    if shape is None:
        if not 1 <= len(own) <= 3:
            raise InputError(
                f"{text} has an array of {samples.ndim} axes: expected samples along the first "
                "axis and 1 to 3 more (CxHxW)"
            )
        return samples[:, None] if len(own) == 2 else samples
    if own == shape:
        return samples
    if shape[0] == 1 and own == shape[1:]:
        return samples[:, None]
    expected, got = "x".join(map(str, shape)), "x".join(map(str, own))
    raise InputError(
        f"{text} has samples of shape {got or 'a single number'}, expected {expected} "
        f"({math.prod(shape)} values, channels first): resize the data or pass a matching --shape"
    )
