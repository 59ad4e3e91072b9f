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
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

KINDS = ("dense", "channels", "tokens", "isotropic")


@dataclass(frozen=True)
class Structure:
    """The arrangement of a sample's entries into rows and copies.

    Args:
        kind: one of `KINDS`.
        shape: shape of one sample.
        patch: side of a patch; only for `tokens`.
    """

    kind: str
    shape: tuple[int, ...]
    patch: int = 1

    @property
    def size(self) -> int:
        """D."""
        return math.prod(self.shape)

    @cached_property
    def entries(self) -> Int[np.ndarray, "n m"]:
        """Flat index into the sample of row a, copy j."""
        index = np.arange(self.size)
        match self.kind:
            case "dense":
                return index[:, None]
            case "isotropic":
                return index[None, :]
            case "channels":
                return index.reshape(self.shape[0], -1).T
            case "tokens":
                channels, *spatial = self.shape if len(self.shape) > 1 else (1, *self.shape)
                p, axes = self.patch, len(spatial)
                grid = index.reshape(channels, *(k for n in spatial for k in (n // p, p)))
                outer, inner = range(1, 2 * axes, 2), range(2, 2 * axes + 1, 2)
                return grid.transpose(*outer, *inner, 0).reshape(-1, p**axes * channels)
        raise ValueError(f"unknown structure {self.kind!r}")

    @property
    def rows(self) -> int:
        """n, the size of the factor; told without listing the entries."""
        match self.kind:
            case "isotropic":
                return 1
            case "channels":
                return self.size // self.shape[0]
            case "tokens":
                spatial = self.shape[1:] if len(self.shape) > 1 else self.shape
                return math.prod(side // self.patch for side in spatial)
        return self.size if self.kind == "dense" else self.entries.shape[0]

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
