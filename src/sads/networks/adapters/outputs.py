"""How the prediction is read from what a module returns.

A tensor is taken as it is. In an object, a dictionary, a list or a tuple the first part with the
layout of the sample is taken; parts with a usual name come first. A list with one tensor for each
input is stacked. A part has the layout of the sample if it has its shape; its shape with twice the
channels, because the module also predicts variances; its shape with the channels last; or its shape
in complex numbers, whose real part is taken.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

NAMES = (
    *("sample", "prediction", "pred", "model_output", "noise", "eps", "epsilon", "velocity", "v"),
    *("output", "out", "x", "x0", "denoised", "last_hidden_state", "logits"),
)
DEEPEST = 3  # levels of nested containers


class Located(NamedTuple):
    """A part of an output.

    Attributes:
        value: the part, a tensor if there is one.
        where: its place, in words; `tensor` for the whole output.
    """

    value: Any
    where: str


def prediction_in(output: Any, x: Tensor) -> Located:
    """The part of an output that is the prediction, in the layout of x; with its place in words."""
    parts = list(_parts(output, "tensor", 0))
    tensors = [part for part in parts if isinstance(part.value, Tensor)]
    fitting = [part for part in tensors if _laid_out(part.value, x) is not None]
    chosen = next(iter(fitting or tensors), Located(output, "tensor"))
    if not fitting and _one_each(output, x):
        chosen = Located(torch.stack(list(output)), f"a list of {len(output)}, one for each input")
    laid = _laid_out(chosen.value, x) if isinstance(chosen.value, Tensor) else None
    if laid is None:
        return chosen
    value, how = laid
    if not how:
        return Located(value, chosen.where)
    return Located(value, how if chosen.where == "tensor" else f"{how} of {chosen.where}")


def places_that_fit(output: Any, x: Tensor) -> list[str]:
    """All places in an output with the layout of x, in words; the first is the one that is read."""
    parts = [part for part in _parts(output, "tensor", 0) if isinstance(part.value, Tensor)]
    return [part.where for part in parts if _laid_out(part.value, x) is not None]


def _laid_out(value: Tensor, x: Tensor) -> tuple[Tensor, str] | None:
    """A tensor in the layout of x, and what was done to it; None if that is not possible."""
    if value.is_complex() and value.shape == x.shape:
        return value.real, "the real part"
    if value.shape == x.shape:
        return value, ""
    if value.ndim != x.ndim or value.shape[0] != x.shape[0]:
        return None
    if value.shape[1] == 2 * x.shape[1] and value.shape[2:] == x.shape[2:]:
        half = f"the first {x.shape[1]} of {value.shape[1]} channels"
        return value[:, : x.shape[1]], half
    last = value.movedim(-1, 1)
    return (last, "channels last") if last.shape == x.shape and not value.is_complex() else None


def _parts(output: Any, where: str, depth: int) -> Iterator[Located]:
    """The tensors in an output, the likely ones first."""
    if isinstance(output, Tensor):
        yield Located(output, where)
        return
    if depth == DEEPEST:
        return
    inside = "" if where == "tensor" else f" of {where}"
    if isinstance(output, Mapping) and not is_dataclass(output):  # diffusers' are both
        for key in sorted(output, key=_rank):
            yield from _parts(output[key], f"the key {key}{inside}", depth + 1)
    elif isinstance(output, (tuple, list)) and not hasattr(output, "_fields"):
        for i, part in enumerate(output):
            place = "first" if i == 0 else f"number {i + 1}"
            yield from _parts(part, f"the {place} of {len(output)}{inside}", depth + 1)
    else:
        for name in sorted(_attributes(output), key=_rank):
            yield from _parts(getattr(output, name), f"`.{name}`{inside}", depth + 1)


def _rank(name: Any) -> int:
    """The rank of a name: usual names come first, others keep their order."""
    return NAMES.index(name) if name in NAMES else len(NAMES)


def _attributes(output: Any) -> list[str]:
    """The names of the fields or attributes of an object."""
    if hasattr(output, "_fields"):  # a named tuple
        return list(output._fields)
    if is_dataclass(output):
        return [field.name for field in fields(output)]
    return list(getattr(output, "__dict__", ()))


def _one_each(output: Any, x: Tensor) -> bool:
    """Whether an output is a list with one tensor of the sample's shape for each input."""
    if not isinstance(output, (tuple, list)) or len(output) != len(x):
        return False
    return all(isinstance(part, Tensor) and part.shape == x.shape[1:] for part in output)
