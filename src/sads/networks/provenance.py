"""From which distribution each parameter of a module starts, told by watching it being made.

While a factory runs, every operation on tensors is seen. A parameter whose storage was filled by
`uniform_(-b, b)`, `normal_(0, s)` or a constant, and afterwards at most multiplied by a number,
has a known initial distribution; one that was made in any other way has not. Nor has one whose
values were read: they may have been copied, or rejected and drawn again.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from .initialisation import Constant, Distribution, Normal, Uniform

aten = torch.ops.aten
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


class Recorder(TorchDispatchMode):
    """Remembers how storages were filled."""

    def __init__(self) -> None:
        super().__init__()
        # Storages are kept alive, so that no address is used for two of them.
        self._known: dict[int, tuple[object, Distribution | None]] = {}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        inputs = [a for a in args if isinstance(a, Tensor)]
        known = _made_by(func, args, kwargs or {}, self.distribution)
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

    def _note(self, tensor: Tensor, known: Distribution | None) -> None:
        whole = tensor.numel() == tensor.untyped_storage().nbytes() // tensor.element_size()
        storage = tensor.untyped_storage()
        self._known[storage.data_ptr()] = (storage, known if whole else None)

    def distribution(self, tensor: Tensor) -> Distribution | None:
        """The distribution that a tensor's whole storage was filled from, if known."""
        found = self._known.get(_address(tensor))
        whole = tensor.numel() == tensor.untyped_storage().nbytes() // tensor.element_size()
        real = not tensor.is_complex()  # ours are the distributions of real numbers
        return found[1] if found is not None and whole and real else None


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _made_by(
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    known: Callable[[Tensor], Distribution | None],
) -> Distribution | None:
    """The distribution of what an operation writes."""
    if func in _NEW_CONSTANTS:
        return Constant(_NEW_CONSTANTS[func])
    if func in (aten.full.default, aten.full_like.default, aten.fill_.Scalar):
        return Constant(float(args[1])) if isinstance(args[1], Real) else None
    if func is aten.uniform_.default:
        low, high = (*args[1:3], *(0.0, 1.0)[len(args[1:3]) :])
        return Uniform(float(high)) if high > 0 and low == -high else None
    if func in (aten.normal_.default, aten.randn.default, aten.randn_like.default):
        given = args[1:3] if func is aten.normal_.default else ()
        mean, std = (*given, *(0.0, 1.0)[len(given) :])
        return Normal(float(std)) if mean == 0 and std > 0 else None
    if func in _SCALED | _DIVIDED and isinstance(args[0], Tensor):
        factor = args[1] if isinstance(args[1], Real) else None
        if factor is None and isinstance(args[1], Tensor) and args[1].ndim == 0:
            factor = args[1].item()
        before = known(args[0])
        if factor and before is not None:
            return _scaled(before, float(factor) if func in _SCALED else 1 / float(factor))
    return None


def _scaled(before: Distribution, factor: float) -> Distribution:
    match before:
        case Uniform(bound=bound):
            return Uniform(bound * abs(factor))
        case Normal(std=std):
            return Normal(std * abs(factor))
        case Constant(value=value):
            return Constant(value * factor)


def recorded(make: Callable[[], nn.Module]) -> tuple[nn.Module, dict[str, Distribution | None]]:
    """What a factory makes, and the initial distribution of each parameter; None where unknown."""
    recorder = Recorder()
    with recorder:
        module = make()
    addresses = [_address(p) for p in module.parameters()]
    found: dict[str, Distribution | None] = {}
    for name, parameter in module.named_parameters():
        alone = addresses.count(_address(parameter)) == 1
        found[name] = recorder.distribution(parameter) if alone else None
    return module, found
