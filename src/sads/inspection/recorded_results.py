"""Results of the functions in a forward pass, recorded without keeping large tensors alive."""

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

SMALL = 4096  # results with at most this number of entries are always kept


def tensors(value: Any) -> Iterator[Tensor]:
    """All tensors in arguments or results."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors(part)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))


def storage(tensor: Tensor) -> int:
    """The address of the values of a tensor; 0 if it has none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A result in which every tensor, or its placeholder, is changed."""
    if isinstance(value, tuple) and type(value) is not torch.Size:
        parts = [mapped(part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else _like(value, parts)
    if isinstance(value, list):
        return [mapped(part, change) for part in value]
    return change(value)


def _like(value: tuple[Any, ...], parts: list[Any]) -> Any:
    """A tuple of the same type; torch has named tuples of its own, which take a sequence."""
    return tuple(parts) if type(value) is tuple else type(value)(parts)


@dataclass(frozen=True)
class _Weak:
    """A result that is kept only as long as the pass itself keeps it."""

    tensor: "weakref.ref[Tensor]"
    shape: torch.Size
    dtype: torch.dtype
    device: torch.device


def weakly(value: Any) -> Any:
    """The record of a result: small results themselves, a weak reference to others."""
    if not isinstance(value, Tensor) or value.numel() <= SMALL:
        return value
    return _Weak(weakref.ref(value), value.shape, value.dtype, value.device)


def still_alive(value: Any) -> Iterator[Tensor]:
    """The tensors of a recorded result that still exist."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from still_alive(part)
        return
    tensor = value.tensor() if isinstance(value, _Weak) else value
    if isinstance(tensor, Tensor):
        yield tensor


def revived(living: dict[int, Tensor], value: Any) -> Any:
    """A recorded tensor, or zeros of its shape if it no longer existed at the call."""
    if not isinstance(value, _Weak):
        return value
    tensor = value.tensor()
    if tensor is not None and id(tensor) in living:
        return tensor
    return torch.zeros((), dtype=value.dtype, device=value.device).expand(value.shape)
