"""Read-outs on a subspace: B^T (U^T U) B and the trace, without anything of size n x n.

Let B be the basis of a subspace of the factor's rows (`subspaces`), and let the sum of v v^T over
vectors v be U^T U (`ReadOut.pieces`). Then

    B^T E[z z^T | h] B = s_w^2 sum_v (B^T v)(B^T v)^T + s_b^2 (B^T 1)(B^T 1)^T.

For a convolution the v are the maps of all channels, moved by each offset of the kernel. Each moved
map is projected before the next one is made, so that memory is m x L plus that of the features. The
sum over offsets does not commute with B, so it cannot be left to the end.

The trace s_w^2 sum_v |v|^2 + n s_b^2 is that of the whole factor. It is summed in the corner of an
extra row and column, so that the sum over networks is again one symmetric matrix.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from ..devices import require_memory
from ..directions.structure import Structure
from ..directions.subspaces import Basis, Frequencies, Span
from .readout import PlainReadOut
from .readout_base import PEAK, ReadOut
from .subspaces import AnySubspace


class Projector:
    """B^T v for rows of tensors, with the basis in their precision and on their device."""

    def __init__(self, basis: Basis):
        self.basis = basis
        self._known: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}

    def __call__(self, rows: Float[Tensor, "k n"]) -> Float[Tensor, "k m"]:
        matrices = self._matrices(rows)
        if isinstance(self.basis, Span):
            return rows @ matrices[0]
        grid = rows.view(-1, *self._sides)
        for axis, own in enumerate(matrices, start=1):
            grid = (grid.movedim(axis, -1) @ own).movedim(-1, axis)
        return grid.reshape(len(rows), self.basis.columns)

    @property
    def _sides(self) -> tuple[int, ...]:
        return self.basis.sides if isinstance(self.basis, Frequencies) else (self.basis.rows,)

    def _matrices(self, rows: Tensor) -> list[Tensor]:
        place = (rows.device, rows.dtype)
        if place not in self._known:
            own = [a.T for a in self.basis.axes] if isinstance(self.basis, Frequencies) else []
            if isinstance(self.basis, Span):
                own = [self.basis.matrix]
            self._known[place] = [torch.from_numpy(a).to(*place) for a in own]
        return self._known[place]


def vectors(readout: PlainReadOut, h: Float[Tensor, "N ..."]) -> Iterator[Float[Tensor, "k n"]]:
    """Vectors v over the accumulated rows, for which the sum of v v^T is that of the last layer.

    If the whole of G is accumulated, the vectors of its copies follow one another.
    """
    for piece in readout.pieces(h):
        if not readout.constant or piece.shape[1] == readout.structure.rows:
            yield piece
            continue
        for copy in torch.from_numpy(readout.imposed.entries.T).to(piece.device):
            whole = piece.new_zeros(len(piece), readout.structure.rows)
            whole[:, copy] = piece
            yield whole


@dataclass(frozen=True)
class Compressed(ReadOut):
    """A read-out whose factor is kept on a subspace.

    Attributes:
        inner: the read-out of the whole.
        subspace: which subspace.
    """

    kind: Literal["compressed"] = field(default="compressed", kw_only=True)
    inner: Annotated[PlainReadOut, Field(discriminator="kind")] = field(kw_only=True)
    subspace: Annotated[AnySubspace, Field(discriminator="kind")] = field(kw_only=True)

    @classmethod
    def of(cls, inner: PlainReadOut, subspace: AnySubspace) -> "Compressed":
        """A read-out on a subspace.

        Raises:
            InputError: if the subspace is larger than the space.
        """
        subspace.columns(inner.structure)
        return cls(inner.shape, inner=inner, subspace=subspace)

    @property
    def structure(self) -> Structure:
        return self._structure

    @cached_property
    def _structure(self) -> Structure:
        return self.inner.structure.compressed(self._projector.basis)

    @property
    def accumulated(self) -> int:
        return self.structure.rows + 1

    @property
    def rows(self) -> int:
        return self.subspace.columns(self.inner.structure)

    @property
    def last_layer(self) -> str:
        return self.inner.kind

    @property
    def rank(self) -> int:
        return min(self.rows, self.inner.rank)

    def peak_memory(self, *, exact: bool = False) -> int:
        return PEAK * self.rows**2 + self.subspace.memory(self.inner.structure)

    def require_memory(self, *, exact: bool = False) -> None:
        shape, rows = "x".join(map(str, self.shape)), self.inner.structure.rows
        require_memory(
            self.peak_memory(),
            f"the subspace {self.subspace.spelled} of a factor of {rows:,} rows on {shape}",
            "choose a smaller subspace or shape",
        )

    @cached_property
    def _projector(self) -> Projector:
        return Projector(self.subspace.basis(self.inner.structure))

    @cached_property
    def _ones(self) -> Float[np.ndarray, "m m"]:
        """B^T 1 1^T B, summed over copies if the whole of G is accumulated."""
        basis, inner = self._projector.basis, self.inner
        if not inner.constant:
            return np.outer(basis.ones, basis.ones)
        if inner.imposed.rows == 1:
            return np.eye(basis.columns)
        each = np.zeros((inner.imposed.copies, basis.rows))
        for own, copy in zip(each, inner.imposed.entries.T, strict=True):
            own[copy] = 1.0
        own = basis.coordinates(each)
        return own.T @ own

    def moment(
        self,
        h: Float[Tensor, "N ..."],
        a: Float[Tensor, "N ..."] | None = None,
        bias: float = 0.0,
    ) -> Float[Tensor, "m1 m1"]:
        kept, total = self._weights(h)
        inner = self.inner
        if inner.constant or inner.settled:
            added = len(h) * inner.bias_variance + bias
            kept = inner.weight_variance * kept + added * torch.from_numpy(self._ones).to(kept)
            total = inner.weight_variance * total + added * inner.structure.rows
        if a is not None:
            own = self._projector(a.double().flatten(1))
            kept, total = kept + own.T @ own, total + _energy(a)
        return torch.block_diag(kept, kept.new_full((1, 1), total))

    def _weights(self, h: Float[Tensor, "N ..."]) -> tuple[Float[Tensor, "m m"], float]:
        """B^T U^T U B and the trace of U^T U, summed over networks."""
        size = self._projector.basis.columns
        if self.inner.constant and self.inner.imposed.rows == 1:
            energy = _energy(h)
            return energy * torch.eye(size, dtype=torch.float64), energy * self.inner.structure.rows
        kept, total = torch.zeros((size, size), dtype=torch.float64, device=h.device), 0.0
        for rows in vectors(self.inner, h):
            # Always in float64: otherwise the rounding of a large column would leak into columns
            # where G is small.
            own = self._projector(rows.double())
            kept += own.T @ own
            total += _energy(rows)
        return kept, total

    def _raw(self, h: Float[Tensor, "N ..."]) -> Float[Tensor, "m m"]:
        return self._weights(h)[0]

    def factor(self, moment: Float[np.ndarray, "m1 m1"]) -> Float[np.ndarray, "m m"]:
        kept, inner = moment[:-1, :-1], self.inner
        if not (inner.constant or inner.settled):
            kept = inner.weight_variance * kept + inner.bias_variance * self._ones
        return kept + inner.floor * np.eye(len(kept)) if inner.floor else kept

    def trace(self, moment: Float[np.ndarray, "m1 m1"]) -> float:
        inner, total = self.inner, float(moment[-1, -1])
        if not (inner.constant or inner.settled):
            total = inner.weight_variance * total + inner.bias_variance * inner.structure.rows
        return total + inner.floor * inner.structure.rows


@dataclass(frozen=True)
class Sketching(ReadOut):
    """A read-out of A Omega instead of A, for a sketch; it is never stored.

    Attributes:
        inner: the read-out of the whole.
        omega: the Gaussian columns.
    """

    inner: PlainReadOut = field(kw_only=True)
    omega: Float[np.ndarray, "n s"] = field(kw_only=True, repr=False, compare=False)

    @property
    def structure(self) -> Structure:
        return self.inner.structure

    @cached_property
    def _along(self) -> Projector:
        return Projector(Span(self.omega))

    def moment(
        self,
        h: Float[Tensor, "N ..."],
        a: Float[Tensor, "N ..."] | None = None,
        bias: float = 0.0,
    ) -> Float[Tensor, "n s"]:
        inner, count = self.inner, len(h)
        total = inner.weight_variance * self._raw(h)
        added = count * inner.bias_variance + bias
        if added:
            total += added * torch.from_numpy(self._ones).to(total)
        if inner.floor:
            total += count * inner.floor * torch.from_numpy(self.omega).to(total)
        if a is not None:
            flat = a.double().flatten(1)
            total.addmm_(flat.T, self._along(flat))
        return total

    @cached_property
    def _ones(self) -> Float[np.ndarray, "n s"]:
        """1 1^T Omega, for every copy if the whole of G is accumulated."""
        inner = self.inner
        if not inner.constant or inner.imposed.rows == inner.structure.rows:
            return np.broadcast_to(self.omega.sum(axis=0), self.omega.shape).copy()
        own = np.empty_like(self.omega)
        for copy in inner.imposed.entries.T:
            own[copy] = self.omega[copy].sum(axis=0)
        return own

    def _raw(self, h: Float[Tensor, "N ..."]) -> Float[Tensor, "n s"]:
        if self.inner.constant and self.inner.imposed.rows == 1:
            return _energy(h) * torch.from_numpy(self.omega)
        total = h.new_zeros(self.omega.shape, dtype=torch.float64)
        for rows in vectors(self.inner, h):
            own = rows.double()
            total.addmm_(own.T, self._along(own))
        return total


def _energy(values: Tensor) -> float:
    """The sum of squares in float64, computed in parts to save memory."""
    flat = values.reshape(-1)
    return math.fsum(float(part.double().square().sum()) for part in flat.split(2**22))


AnyReadOut = PlainReadOut | Compressed
