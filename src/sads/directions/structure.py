"""How a small factor A (n x n) makes the whole geometry G (D x D), D = n m.

The output layer fixes most of G (propositions 1 to 3). In all cases there is an arrangement of
the D entries of a sample into n rows of m copies, such that

    G[(a, j), (b, k)] = A[a, b] if j = k else 0,

so G is A repeated m times and every eigenvalue of A has multiplicity m:

| kind        | n          | m             | when                                          |
|-------------|------------|---------------|-----------------------------------------------|
| `dense`     | D          | 1             | nothing is known about the output layer       |
| `channels`  | positions  | channels      | convolution (proposition 2)                   |
| `tokens`    | tokens     | entries/token | token-wise linear layer (proposition 3)       |
| `isotropic` | 1          | D             | dense linear layer (proposition 1)            |
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True)
class Structure(ABC):
    """The arrangement of a sample's entries into rows and copies.

    Args:
        shape: shape of one sample.
        patch: side of a patch; only tokens have one.
    """

    kind: ClassVar[str]
    shape: tuple[int, ...]
    patch: int = 1

    @property
    def size(self) -> int:
        """D, the number of entries of one sample."""
        return math.prod(self.shape)

    @property
    @abstractmethod
    def rows(self) -> int:
        """n, the size of the factor; told without listing the entries."""

    @cached_property
    def entries(self) -> Int[np.ndarray, "n m"]:
        """Flat index into the sample of row a, copy j."""
        return self._arranged(np.arange(self.size))

    @abstractmethod
    def _arranged(self, index: Int[np.ndarray, " D"]) -> Int[np.ndarray, "n m"]: ...

    @property
    def copies(self) -> int:
        """m, the multiplicity of every eigenvalue of the factor."""
        return self.size // self.rows

    def apply(
        self, factor: Float[np.ndarray, "n n"], vectors: Float[np.ndarray, "*batch D"]
    ) -> Float[np.ndarray, "*batch D"]:
        """G v for each v, without forming G."""
        result = np.empty_like(vectors)
        # One product for all vectors and copies: the factor is read once, not once per vector.
        parts = vectors[..., self.entries.T]
        result[..., self.entries.T] = (parts.reshape(-1, self.rows) @ factor.T).reshape(parts.shape)
        return result

    def expand(self, factor: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "D D"]:
        """The whole matrix G."""
        whole = np.zeros((self.size, self.size))
        for copy in self.entries.T:
            whole[np.ix_(copy, copy)] = factor
        return whole

    def embed(self, vectors: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "D km"]:
        """Columns of G's eigenbasis from columns of A's: each one m times, copy by copy."""
        count = vectors.shape[1]
        whole = np.zeros((self.size, count, self.copies))
        for j, copy in enumerate(self.entries.T):
            whole[copy, :, j] = vectors
        return whole.reshape(self.size, count * self.copies)


class Dense(Structure):
    """Every entry is a row of its own."""

    kind = "dense"

    @property
    def rows(self) -> int:
        return self.size

    def _arranged(self, index: Int[np.ndarray, " D"]) -> Int[np.ndarray, "n m"]:
        return index[:, None]


class Isotropic(Structure):
    """All entries are copies of one row."""

    kind = "isotropic"

    @property
    def rows(self) -> int:
        return 1

    def _arranged(self, index: Int[np.ndarray, " D"]) -> Int[np.ndarray, "n m"]:
        return index[None, :]


class Channels(Structure):
    """Positions are rows, channels their copies."""

    kind = "channels"

    @property
    def rows(self) -> int:
        return self.size // self.shape[0]

    def _arranged(self, index: Int[np.ndarray, " D"]) -> Int[np.ndarray, "n m"]:
        return index.reshape(self.shape[0], -1).T


class Tokens(Structure):
    """Patches are rows, the entries of a patch their copies."""

    kind = "tokens"

    @property
    def rows(self) -> int:
        spatial = self.shape[1:] if len(self.shape) > 1 else self.shape
        return math.prod(side // self.patch for side in spatial)

    def _arranged(self, index: Int[np.ndarray, " D"]) -> Int[np.ndarray, "n m"]:
        channels, *spatial = self.shape if len(self.shape) > 1 else (1, *self.shape)
        p, axes = self.patch, len(spatial)
        grid = index.reshape(channels, *(k for n in spatial for k in (n // p, p)))
        outer, inner = range(1, 2 * axes, 2), range(2, 2 * axes + 1, 2)
        return grid.transpose(*outer, *inner, 0).reshape(-1, p**axes * channels)


#: Every structure by the name that plans and results give it.
STRUCTURES: dict[str, type[Structure]] = {
    structure.kind: structure for structure in (Dense, Channels, Tokens, Isotropic)
}
