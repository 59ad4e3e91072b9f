"""Cast modules to another precision; `Module.to` drops imaginary parts of complex parameters."""

import torch
from torch import Tensor, nn

_COMPLEX = {torch.float32: torch.complex64, torch.float64: torch.complex128}


def cast(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Cast a module in place, complex values to the complex type of the same precision."""

    def one(value: Tensor) -> Tensor:
        if value.is_complex():
            return value.to(_COMPLEX[dtype])
        return value.to(dtype) if value.is_floating_point() else value

    return module._apply(one)
