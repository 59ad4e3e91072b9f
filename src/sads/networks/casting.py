"""A module in another precision; `Module.to` drops the imaginary part of complex parameters."""

import torch
from torch import Tensor, nn

_COMPLEX = {torch.float32: torch.complex64, torch.float64: torch.complex128}


def cast(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """The module itself, its parameters and buffers in a precision, complex ones in its pair."""

    def one(value: Tensor) -> Tensor:
        if value.is_complex():
            return value.to(_COMPLEX[dtype])
        return value.to(dtype) if value.is_floating_point() else value

    return module._apply(one)
