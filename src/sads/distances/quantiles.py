"""The 2-Wasserstein distance of two samples on the line.

Optimal transport on the line matches equal quantiles. With F^{-1} and G^{-1} the quantile functions
of the samples x_1 <= ... <= x_n and y_1 <= ... <= y_m,

    W2^2 = int_0^1 (F^{-1}(q) - G^{-1}(q))^2 dq = sum_k w_k (x_{i_k} - y_{j_k})^2

since both are steps: w_k are the lengths of the pieces into which {i/n} and {j/m} cut [0, 1]. The
pieces depend on n and m alone and serve all projections. For n = m, w_k = 1/n and i_k = j_k = k.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Coupling:
    """The optimal coupling of sorted samples of n and m points: K pieces of mass."""

    n: int
    m: int
    i: Int[np.ndarray, " K"]
    j: Int[np.ndarray, " K"]
    weights: Float[np.ndarray, " K"]

    @classmethod
    def of_sizes(cls, n: int, m: int) -> "Coupling":
        """Cut [0, 1] at the multiples of 1/n and 1/m, in exact multiples of 1/(nm)."""
        cuts = np.union1d(np.arange(n + 1) * m, np.arange(m + 1) * n)
        return cls(n, m, cuts[:-1] // m, cuts[:-1] // n, np.diff(cuts) / (n * m))

    def differences(
        self, x: Float[np.ndarray, "*rows n"], y: Float[np.ndarray, "*rows m"]
    ) -> Float[np.ndarray, "*rows K"]:
        """x_{i_k} - y_{j_k} of sorted rows, in float64."""
        if self.n == self.m:
            # Subtracting first is exact for close values, and takes half the memory.
            return (x - y).astype(np.float64, copy=False)
        return np.take(x, self.i, axis=-1) - np.take(y, self.j, axis=-1).astype(np.float64)

    def squared(
        self, x: Float[np.ndarray, "R n"], y: Float[np.ndarray, "R m"]
    ) -> Float[np.ndarray, " R"]:
        """W2^2 of each pair of sorted rows, accumulated in float64."""
        difference = self.differences(x, y)
        if self.n == self.m:
            return np.einsum("rk,rk->r", difference, difference) / self.n
        return np.einsum("rk,rk,k->r", difference, difference, self.weights)

    def residuals(
        self, p: Float[np.ndarray, " n"], q: Float[np.ndarray, " m"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " m"]]:
        """Half the gradient of W2^2 in each point of two unsorted samples, with q's sign reversed.

        Each point of p gets the sum of w_k (p - q) over its pieces, and likewise for q.
        """
        order_p, order_q = np.argsort(p), np.argsort(q)
        pull = self.weights * self.differences(p[order_p], q[order_q])
        a, b = np.empty(self.n), np.empty(self.m)
        a[order_p] = np.bincount(self.i, pull, self.n)
        b[order_q] = np.bincount(self.j, pull, self.m)
        return a, b
