"""The linear score network of theorem 1: F(x) = Phi Theta x with Phi fixed.

With independent zero-mean entries of Theta its geometry is proportional to Phi Phi^T under
every probe, so the eigenvalues are known exactly.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import InputError
from ..randomness import stream
from .base import ScoreNetwork


class Linear(ScoreNetwork):
    """Phi Theta on flattened input; Phi = U diag(sqrt(lambda)) with U a seeded rotation.

    Args:
        shape: any shape; D is its product.
        eigenvalues: the D eigenvalues of Phi Phi^T; by default D, D - 1, ..., 1.
        rotation: seed of U; 0 is the identity.
    """

    phi: Tensor

    def __init__(
        self,
        shape: Sequence[int],
        *,
        eigenvalues: Sequence[float] | None = None,
        rotation: int = 0,
    ):
        super().__init__(shape)
        size = self.size
        values = np.arange(size, 0, -1.0) if eigenvalues is None else np.asarray(eigenvalues, float)
        if values.shape != (size,) or not (np.isfinite(values) & (values >= 0)).all():
            raise InputError(
                f"a linear network on {size} entries needs {size} finite non-negative "
                f"eigenvalues, got {values.size}, the smallest {values.min(initial=0):g}"
            )
        if rotation < 0:
            raise InputError(f"a linear network's rotation is a seed from 0 on, got {rotation}")
        basis = np.eye(size)
        if rotation:
            normal = stream(rotation, "basis of a linear network").standard_normal((size, size))
            basis = np.linalg.qr(normal)[0]
        self.register_buffer("phi", torch.from_numpy(basis * np.sqrt(values)))
        self.head: nn.Module = nn.Linear(size, size, bias=False)

    def features(self, x: Tensor, t: Tensor) -> Tensor:
        """The flattened input, (N, *shape) to (N, D)."""
        return x.flatten(1)

    def arrange(self, z: Tensor) -> Tensor:
        """Phi z, back in shape."""
        return (z @ self.phi.T.to(z.dtype)).view(-1, *self.shape)
