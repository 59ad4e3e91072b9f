"""Torch's two kinds of modes with one interface: `called` sees each call and may replace it."""

from typing import Any

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]


class FunctionMode(TorchFunctionMode):
    """A mode that sees the functions of torch that a module calls."""

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        """What the call returns to the module."""
        return func(*args, **kwargs)

    def __torch_function__(
        self, func: Any, types: Any, args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        return self.called(func, args, kwargs or {})


class DispatchMode(TorchDispatchMode):
    """A mode that sees the operations on tensors inside these functions."""

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        """What the operation returns."""
        return func(*args, **kwargs)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        return self.called(func, args, kwargs or {})
