"""Energies by group of directions on torch tensors, for training loops.

`directions.sets` works on NumPy arrays. A training loop has tensors on some device and should
not wait, so the same coefficients are computed there: by a product with the columns, a DCT as one
small matrix for each axis, or sums over channels. Nothing is copied to the host.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from scipy.fft import dct
from torch import Tensor

from ..directions.sets import (
    ChannelMeans,
    Columns,
    Cosines,
    DirectionSet,
    Eigenvectors,
    Entries,
    MeansAndBands,
)
from ..directions.structure import Compressed
from ..inspection.subspace_readout import Projector

Transform = Callable[[Tensor], Tensor]


class Energies:
    """Energies of residuals in each group of a set of directions.

    Args:
        directions: the set.
        device: where the residuals are.
    """

    def __init__(self, directions: DirectionSet, device: torch.device):
        # Apple's GPUs have no float64.
        self.dtype: torch.dtype = torch.float32 if device.type == "mps" else torch.float64
        self._transform = _transform(directions, partial(_tensor, device=device, dtype=self.dtype))
        self._groups = torch.from_numpy(np.asarray(directions.groups)).to(device)
        self._count = len(directions.widths)
        self.size: int = directions.size

    def __call__(self, residual: Float[Tensor, "N D"]) -> Float[Tensor, "N k"]:
        """Sums of squared coefficients, sample by sample."""
        squares = self._transform(residual.to(self.dtype)) ** 2
        if self._count == squares.shape[1]:  # one direction a group
            return squares[:, torch.argsort(self._groups)]
        empty = squares.new_zeros(len(squares), self._count)
        return empty.index_add_(1, self._groups, squares)


def _tensor(array: np.ndarray, *, device: torch.device, dtype: torch.dtype) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device, dtype)


def _transform(directions: DirectionSet, tensor: Callable[[np.ndarray], Tensor]) -> Transform:
    """Coefficients (N, m) of residuals (N, D)."""
    match directions:
        case Columns(columns=columns):
            return partial(torch.matmul, other=tensor(columns))
        case Eigenvectors(spectrum=spectrum):
            if isinstance(spectrum.structure, Compressed):
                return partial(
                    _in_subspace,
                    structure=spectrum.structure,
                    project=Projector(spectrum.structure.basis),
                    vectors=tensor(spectrum.factor_vectors),
                )
            return partial(torch.matmul, other=tensor(spectrum.eigenvectors))
        case Cosines(shape=shape) | MeansAndBands(shape=shape):
            matrices = [
                tensor(np.asarray(dct(np.eye(n), axis=0, norm="ortho"))) for n in shape[1:] or shape
            ]
            return partial(_cosines, shape=shape, matrices=matrices)
        case ChannelMeans(shape=shape):
            return partial(_means, channels=shape[0] if len(shape) > 1 else 1)
        case Entries():
            return lambda residual: residual
    raise TypeError(f"no transform of {type(directions).__name__} on tensors")


def _in_subspace(
    residual: Tensor, *, structure: Compressed, project: Projector, vectors: Tensor
) -> Tensor:
    """Coefficients along eigenvectors of a subspace, copy by copy, without the whole vectors."""
    entries = torch.from_numpy(structure.inner.entries.T).to(residual.device)
    parts = project(residual[:, entries].flatten(0, 1)) @ vectors
    each = parts.reshape(len(residual), structure.copies, structure.rows)
    return each.transpose(1, 2).reshape(len(residual), -1)


def _cosines(residual: Tensor, *, shape: tuple[int, ...], matrices: list[Tensor]) -> Tensor:
    images = residual.reshape(-1, *shape)
    first = images.ndim - len(matrices)
    for axis, matrix in enumerate(matrices, start=first):
        images = (images.movedim(axis, -1) @ matrix.T).movedim(-1, axis)
    return images.reshape(len(residual), -1)


def _means(residual: Tensor, *, channels: int) -> Tensor:
    flat = residual.reshape(len(residual), channels, -1)
    return flat.sum(dim=2) / math.sqrt(flat.shape[2])


def group_parts(directions: DirectionSet, x: Float[np.ndarray, "N D"]) -> Iterator[np.ndarray]:
    """The part of samples in each group's subspace, sum_{i in g} u_i u_i^T x, one after another."""
    to = _transform(directions, partial(_tensor, device=torch.device("cpu"), dtype=torch.float64))
    point = torch.from_numpy(np.array(x, dtype=float)).requires_grad_()
    with torch.enable_grad():
        coefficients = to(point)
    groups = torch.from_numpy(np.asarray(directions.groups))
    for group in range(len(directions.widths)):
        own = coefficients.detach() * (groups == group)
        # The transform is linear with orthonormal rows: its transpose brings coefficients back.
        (part,) = torch.autograd.grad(coefficients, point, own, retain_graph=True)
        yield part.numpy()
