"""Torch's two kinds of modes in one form: while active, `called` sees and may replace each call."""

from typing import Any

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]


class FunctionMode(TorchFunctionMode):
    """Sees the functions of torch that a module calls."""

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        """What the call returns to the module."""
        return func(*args, **kwargs)

    def __torch_function__(
        self, func: Any, types: Any, args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        return self.called(func, args, kwargs or {})


class DispatchMode(TorchDispatchMode):
    """Sees the operations on tensors that these functions are made of."""

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        """What the operation returns."""
        return func(*args, **kwargs)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        return self.called(func, args, kwargs or {})
