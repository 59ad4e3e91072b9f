"""The initial distribution of each parameter, found by watching the module being made.

While a factory runs, every operation on tensors is seen. A parameter has a known initial
distribution if its storage was filled by `uniform_(a, b)`, `rand`, `normal_(0, s)`, `randn` or a
constant, and afterwards at most multiplied by numbers and shifted, so that it is centred in the
end. A parameter that was made in any other way has none. Nor has one whose values were read: they
may have been copied, or rejected and drawn again.

A factory may draw the scale of a distribution itself. So several networks are watched, and a
distribution is known only if they agree on it.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import isclose
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes

from ..networks.initialisation import Constant, Distribution, Normal, Uniform
from .torch_modes import Arguments, DispatchMode, Keywords

aten: Any = torch.ops.aten
_NEW_CONSTANTS = {
    aten.zeros.default: 0.0,
    aten.zeros_like.default: 0.0,
    aten.new_zeros.default: 0.0,
    aten.zero_.default: 0.0,
    aten.ones.default: 1.0,
    aten.ones_like.default: 1.0,
    aten.new_ones.default: 1.0,
}
_SCALED = {aten.mul.Tensor, aten.mul_.Tensor, aten.mul.Scalar, aten.mul_.Scalar}
_DIVIDED = {aten.div.Tensor, aten.div_.Tensor, aten.div.Scalar, aten.div_.Scalar}
_SHIFTED = {
    aten.add.Tensor: 1.0,
    aten.add_.Tensor: 1.0,
    aten.add.Scalar: 1.0,
    aten.add_.Scalar: 1.0,
    aten.sub.Tensor: -1.0,
    aten.sub_.Tensor: -1.0,
    aten.sub.Scalar: -1.0,
    aten.sub_.Scalar: -1.0,
}
SAME = 1e-6  # relative deviation up to which the numbers of two networks agree


@dataclass(frozen=True)
class Interval:
    """U(low, high), which a later shift may centre."""

    low: float
    high: float


Filled = Distribution | Interval


class Recorder(DispatchMode):
    """Remembers how storages were filled."""

    def __init__(self) -> None:
        super().__init__()
        # Storages are kept alive, so that no two of them have the same address.
        self._known: dict[int, tuple[object, Filled | None]] = {}

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        result = func(*args, **kwargs)
        inputs = [a for a in args if isinstance(a, Tensor)]
        known = None if kwargs.get("alpha", 1) != 1 else _made_by(func, args, self._filled)
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        written = [output for output in outputs if isinstance(output, Tensor)]
        shared = {_address(i) for i in inputs} & {_address(o) for o in written}
        if shared and not func._schema.is_mutable:
            return result  # a view: nothing was read or written
        for tensor in inputs:
            self._note(tensor, None)
        for tensor in written:
            self._note(tensor, known)
        return result

    def _note(self, tensor: Tensor, known: Filled | None) -> None:
        whole = tensor.numel() == tensor.untyped_storage().nbytes() // tensor.element_size()
        storage = tensor.untyped_storage()
        self._known[storage.data_ptr()] = (storage, known if whole else None)

    def _filled(self, tensor: Tensor) -> Filled | None:
        entry = self._known.get(_address(tensor))
        whole = tensor.numel() == tensor.untyped_storage().nbytes() // tensor.element_size()
        real = not tensor.is_complex()  # our distributions are of real numbers
        return entry[1] if entry is not None and whole and real else None

    def distribution(self, tensor: Tensor) -> Distribution | None:
        """The distribution from which the whole storage of a tensor was filled, if known."""
        filled = self._filled(tensor)
        if not isinstance(filled, Interval):
            return filled
        centred = isclose(filled.low, -filled.high, rel_tol=1e-9)
        return Uniform(filled.high) if centred else None


def unseen() -> AbstractContextManager[object]:
    """A context in which no operation is recorded."""
    return _disable_current_modes()


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _made_by(
    func: Any, args: tuple[Any, ...], known: Callable[[Tensor], Filled | None]
) -> Filled | None:
    """The distribution of the values that an operation writes."""
    if func in _NEW_CONSTANTS:
        return Constant(_NEW_CONSTANTS[func])
    if func in (aten.full.default, aten.full_like.default, aten.fill_.Scalar):
        return Constant(float(args[1])) if isinstance(args[1], Real) else None
    if func in (aten.uniform_.default, aten.rand.default, aten.rand_like.default):
        low, high = _given(args, (0.0, 1.0)) if func is aten.uniform_.default else (0.0, 1.0)
        return Interval(low, high) if high > low else None
    if func in (aten.normal_.default, aten.randn.default, aten.randn_like.default):
        mean, std = _given(args, (0.0, 1.0)) if func is aten.normal_.default else (0.0, 1.0)
        return Normal(std) if mean == 0 and std > 0 else None
    if not args or not isinstance(args[0], Tensor) or (before := known(args[0])) is None:
        return None
    number = _number(args[1]) if len(args) == 2 else None  # a third argument would scale it
    if number is None:
        return None
    if func in _SCALED:
        return _affine(before, number, 0.0)
    if func in _DIVIDED and number:
        return _affine(before, 1 / number, 0.0)
    if func in _SHIFTED:
        return _affine(before, 1.0, _SHIFTED[func] * number)
    return None


def _given(args: tuple[Any, ...], usual: tuple[float, float]) -> tuple[float, float]:
    """The two arguments after the tensor, or their defaults."""
    first, second = (*args[1:3], *usual[len(args[1:3]) :])
    return float(first), float(second)


def _number(value: Any) -> float | None:
    if isinstance(value, Tensor):
        return None if value.ndim or value.is_complex() else float(value.item())
    return float(value) if isinstance(value, Real) else None


def _affine(before: Filled, factor: float, shift: float) -> Filled | None:
    """The distribution of factor * value + shift."""
    if factor == 0:
        return Constant(shift)
    match before:
        case Uniform(bound=bound):
            return _affine(Interval(-bound, bound), factor, shift)
        case Interval(low=low, high=high):
            ends = sorted((factor * low + shift, factor * high + shift))
            return Interval(*ends)
        case Normal(std=std):
            return Normal(std * abs(factor)) if shift == 0 else None
        case Constant(value=value):
            return Constant(factor * value + shift)


def recorded(make: Callable[[], nn.Module]) -> tuple[nn.Module, dict[str, Distribution | None]]:
    """The module that a factory makes, and the distributions of its parameters; None if unknown."""
    recorder = Recorder()
    with recorder:
        module = make()
    addresses = [_address(p) for p in module.parameters()]
    alone = {address for address in addresses if addresses.count(address) == 1}
    return module, {
        name: recorder.distribution(parameter) if _address(parameter) in alone else None
        for name, parameter in module.named_parameters()
    }


def agreed(records: Sequence[dict[str, Distribution | None]]) -> dict[str, Distribution | None]:
    """The distributions of parameters on which all networks agree; None for the others."""
    first, *others = records
    return {
        name: known if all(_same(known, other.get(name)) for other in others) else None
        for name, known in first.items()
    }


def _same(a: Distribution | None, b: Distribution | None) -> bool:
    match a, b:
        case (Uniform(bound=p), Uniform(bound=q)) | (Normal(std=p), Normal(std=q)):
            return isclose(p, q, rel_tol=SAME)
        case Constant(value=p), Constant(value=q):
            return p == q
    return False
