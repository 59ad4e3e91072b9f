"""Sealed artefacts: files with one checksum over everything in them.

A sealed safetensors file has in its metadata

| key        | text                                                                           |
|------------|--------------------------------------------------------------------------------|
| `format`   | kind and version, for example `sads.geometry/2`                                |
| ...        | the fields of this kind, mostly JSON                                           |
| `checksum` | SHA-256 of the canonical JSON of [format, all other metadata, name, type and   |
|            | shape of each tensor, digest of the tensors' names, shapes and values]         |

so that no part with a meaning can change unnoticed. Version 1 of a format has a checksum of the
tensors only. It is still read, and its values are checked for sense like those of a sealed file. A
sealed JSON object has its checksum in a field of its own.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError
from safetensors import safe_open

from ..errors import ArtefactError
from .files import atomic_write, checksum, reason, write_bytes

SEAL = "checksum"
LARGEST_SAMPLE = 2**27  # values of one sample; a header with more is refused

Framework = Literal["numpy", "pt"]


@dataclass(frozen=True)
class Sealed:
    """The verified content of a sealed file.

    Attributes:
        metadata: everything but format and checksum.
        tensors: NumPy arrays or torch tensors.
        values: digest of the tensors only, by which trials identify a geometry.
    """

    metadata: dict[str, str]
    tensors: dict[str, Any]
    values: str


def write_sealed(
    path: Path,
    form: str,
    metadata: Mapping[str, str],
    tensors: Mapping[str, Any],
    *,
    framework: Framework = "numpy",
) -> None:
    """Write a sealed safetensors file, atomically."""
    known = {"format": form, **metadata}
    text = known | {SEAL: _seal(known, tensors, values_digest(tensors))}
    # The library's own file writer leaves temporary files behind when it is killed.
    atomic_write(path, write_bytes(_save(dict(tensors), text, framework)))


def read_sealed(
    path: Path, form: str, *, unsealed: str | None = None, framework: Framework = "numpy"
) -> Sealed:
    """Read and verify a sealed safetensors file.

    Args:
        path: the file.
        form: its format.
        unsealed: the older format, whose checksum covers only the tensors.
        framework: `numpy`, or `pt` for torch tensors.

    Raises:
        ArtefactError: if it is truncated, not ours, corrupt or of a newer version.
    """
    try:
        with safe_open(path, framework=framework) as file:
            metadata = dict(file.metadata() or {})
            _check_format(path, metadata.get("format", ""), form, unsealed)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except ArtefactError:
        raise
    except Exception as error:  # safetensors, NumPy and torch each raise errors of their own
        raise ArtefactError(
            f"{path} is truncated or not a safetensors file ({reason(error)}): delete it and make "
            "it again"
        ) from error
    stored, values = metadata.pop(SEAL, None), values_digest(tensors)
    expected = values if metadata["format"] == unsealed else _seal(metadata, tensors, values)
    if stored != expected:
        raise ArtefactError(f"{path} is corrupt: its checksum does not match; make it again")
    del metadata["format"]
    return Sealed(metadata, tensors, values)


def _check_format(path: Path, stored: str, form: str, unsealed: str | None) -> None:
    if stored in (form, unsealed):
        return
    kind = form.partition("/")[0]
    if stored.startswith(f"{kind}/"):
        raise ArtefactError(f"{path} has format {stored}, this version reads {form}: upgrade sads")
    what = kind.removeprefix("sads.")
    raise ArtefactError(f"{path} is a safetensors file, but not a {what} made by sads")


def values_digest(tensors: Mapping[str, Any]) -> str:
    """Digest of the names, shapes and values of NumPy arrays or torch tensors."""
    return checksum({name: _as_array(tensor) for name, tensor in tensors.items()})


def _as_array(tensor: Any) -> Any:
    """A NumPy array of the same shape and bits."""
    if not hasattr(tensor, "detach"):
        return tensor
    plain = tensor.detach().cpu()
    try:
        return plain.numpy()
    except TypeError:  # NumPy lacks some types of torch: integers of the same size hold the bits
        import torch

        return plain.view(getattr(torch, f"int{8 * plain.itemsize}")).numpy()


def _seal(metadata: Mapping[str, str], tensors: Mapping[str, Any], values: str) -> str:
    types = [
        [name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape)]
        for name, tensor in sorted(tensors.items())
    ]
    return json_digest([dict(metadata), types, values])


def _save(tensors: dict[str, Any], metadata: dict[str, str], framework: Framework) -> bytes:
    if framework == "pt":
        from safetensors.torch import save  # torch takes seconds to load

        return save(tensors, metadata=metadata)
    from safetensors.numpy import save as save_arrays

    return save_arrays(tensors, metadata=metadata)


def json_digest(content: Any) -> str:
    """SHA-256 of the canonical JSON of a value."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def seal_json(content: Mapping[str, Any]) -> bytes:
    """A JSON object with its checksum."""
    return json.dumps({**content, SEAL: json_digest(content)}).encode()


def unseal_json(raw: bytes, path: Path, *, unsealed: bool = False) -> dict[str, Any]:
    """The verified content of a JSON object.

    Args:
        raw: the content of its file.
        path: the file.
        unsealed: whether to accept an object of an older version, without a checksum.

    Raises:
        ArtefactError: if it is not a JSON object, or its checksum does not match.
    """
    with sensible(path):
        content = parse_json(raw)
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
        stored = content.pop(SEAL, None)
        if stored != json_digest(content) and not (unsealed and stored is None):
            raise ArtefactError(f"{path} is corrupt: its checksum does not match; make it again")
        return content


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text, in which no name may be repeated and all numbers must be finite.

    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the name 'a' is repeated
    """
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique: dict[str, Any] = {}
    for name, value in pairs:
        if name in unique:
            raise ValueError(f"the name {name!r} is repeated")
        unique[name] = value
    return unique


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number")


def _finite(text: str) -> float:
    if math.isinf(float(text)):
        raise ValueError(f"{text} is not a finite number")
    return float(text)


@contextmanager
def sensible(path: Path) -> Iterator[None]:
    """Turn errors about the meaning of stored values into one that says the file is damaged."""
    try:
        yield
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ArtefactError(f"{path} is damaged: {_message(error)}; make it again") from error


def _message(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"it lacks {error}" if isinstance(error, KeyError) else reason(error)


def expect(holds: object, what: str) -> None:
    """Refuse a stored value unless a condition holds; to be used inside `sensible`."""
    if not holds:
        raise ValueError(f"expected {what}")


def check_shape(shape: tuple[int, ...]) -> int:
    """The number of values of a stored shape, which must be a possible shape of a sample."""
    expect(shape and all(side > 0 for side in shape), f"a shape, got {shape}")
    size = math.prod(shape)
    expect(size <= LARGEST_SAMPLE, f"at most {LARGEST_SAMPLE:,} values a sample, got {size:,}")
    return size
