"""The simplest network in which the order of directions is reversed, in closed form.

The linear network of theorem 1, f(x) = Phi Theta x with Phi Phi^T = U diag(lambda) U^T, learns the
noise of data N(0, I) by stochastic gradient descent on the mean squared error over batch and
entries. Then x_t ~ N(0, I) at every noise level, and with s_t = sqrt(1 - abar_t) the noise is
eps = s_t x_t + sqrt(abar_t) w, w ~ N(0, I) independent of x_t. So the best this network can do is
a x, a = E_t[s_t], and eps* = s_t x.

Along u_i, with m = u_i^T Phi Theta and e = m - a u_i^T, one step of rate eta at a batch of B is

    e <- e - g (1/B) sum_b (e x_b - xi_b) x_b^T,    g = 2 eta lambda_i / D,
    xi = u_i^T (eps - a x) = (s_t - a) u_i^T x + sqrt(abar_t) u_i^T w.

E[xi x] = 0, and terms that mix e and xi vanish, since E_t[s_t - a] = 0. By E[x x^T x x^T] =
(D + 2) I, for v = E|e|^2

    v <- rho v + g^2 kappa / B,
    rho = 1 - 2 g + g^2 (1 + (D + 1) / B),
    kappa = (D + 2) Var_t(s_t) + D E_t[abar_t],

and the exact risk along u_i after n steps, over initialisations with variance s^2 of Theta's
entries, is

    R_i(n) = rho^n v_0 + (1 - rho^n) g^2 kappa / (B (1 - rho)) + Var_t(s_t),
    v_0 = a^2 + D s^2 lambda_i.

For small rates rho = 1 - 2 g: the larger the eigenvalue, the *faster* its direction is learned, and
while the first term rules, the risk falls with the eigenvalue: the order of conjecture 1 is
reversed. The risk that is left in the end, g kappa / (2 B) + Var_t(s_t), rises with it: that is
the conjecture's order, and it comes from the noise. One network has both orders, one after the
other.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ..path import Schedule
from ..randomness import stream

INITIAL = 1 / 3  # D s^2: PyTorch's linear layers start uniform on +- 1 / sqrt(D)


@dataclass(frozen=True)
class LinearTraining:
    """Stochastic gradient descent of a linear network on N(0, I).

    Attributes:
        eigenvalues: the eigenvalues of Phi Phi^T, one for each of the D directions.
        rate: eta.
        batch: B.
        schedule: the schedule of the diffusion.
    """

    eigenvalues: tuple[float, ...]
    rate: float
    batch: int
    schedule: Schedule = Schedule()

    @property
    def size(self) -> int:
        """D."""
        return len(self.eigenvalues)

    @property
    def moments(self) -> tuple[float, float, float]:
        """E[s_t], Var(s_t) and E[abar_t]."""
        abar = np.asarray(self.schedule.abar)
        levels = np.sqrt(1 - abar)
        return float(levels.mean()), float(levels.var()), float(abar.mean())

    def risk(self, steps: Int[np.ndarray, " n"]) -> Float[np.ndarray, "D n"]:
        """R_i(n) along every direction after each number of steps, over initialisations."""
        mean, spread, signal = self.moments
        values = np.array(self.eigenvalues)[:, None]
        g = 2 * self.rate * values / self.size
        rho = 1 - 2 * g + g**2 * (1 + (self.size + 1) / self.batch)
        kappa = (self.size + 2) * spread + self.size * signal
        left = g**2 * kappa / (self.batch * (1 - rho))
        start = mean**2 + INITIAL * values
        decay = rho ** np.asarray(steps)[None, :]
        return decay * start + (1 - decay) * left + spread

    def trained(
        self, steps: Int[np.ndarray, " n"], chains: int, seed: int = 0
    ) -> Float[np.ndarray, "chains D n"]:
        """The risk along every direction in real trainings, one for each chain."""
        mean, spread, _ = self.moments
        abar = np.asarray(self.schedule.abar)
        generator = stream(seed, "trainings of a linear network")
        root = np.sqrt(np.array(self.eigenvalues))[:, None]
        bound = 1 / np.sqrt(self.size)
        theta = generator.uniform(-bound, bound, (chains, self.size, self.size))
        wanted = {int(step): slot for slot, step in enumerate(steps)}
        risks = np.empty((chains, self.size, len(steps)))
        for step in range(max(wanted) + 1):
            if step in wanted:
                error = root * theta - mean * np.eye(self.size)
                risks[:, :, wanted[step]] = np.square(error).sum(axis=2) + spread
            t = generator.integers(len(abar), size=(chains, self.batch, 1))
            clean, eps = generator.standard_normal((2, chains, self.batch, self.size))
            x = np.sqrt(abar[t]) * clean + np.sqrt(1 - abar[t]) * eps
            residual = np.einsum("cij,cbj->cbi", root * theta, x) - eps
            gradient = np.einsum("cbi,cbj->cij", residual, x) * root
            theta -= self.rate * 2 / (self.batch * self.size) * gradient
        return risks
