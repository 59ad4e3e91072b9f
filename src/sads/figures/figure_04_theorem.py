"""Figure 4: theorem 1 in R^5, gradient descent with and without noise.

Data N(0, v v^T) with v = u_i, noise level sigma, networks Omega = Phi Theta with Phi Phi^T of
eigenvalues lambda. The optimum (lemma 1), the step of gradient descent (equation 15), its rate and
the trace of the gradient's covariance at the optimum (equation 19) are

    Omega* = (v v^T / (sigma^2 + 1) - I) / sigma^2,
    Omega <- Omega - 2 eta Phi Phi^T [Omega (v v^T + sigma^2 I) + I],
    1 - 2 eta rho_i,   rho_i = min[(sigma^2 + 1) lambda_i, sigma^2 min_{j != i} lambda_j],
    tr Cov = 4 (1 + D sigma^2) lambda_i / (sigma^2 (sigma^2 + 1)).

Stochastic descent draws one sample a step: Theta <- Theta - 2 eta Phi^T (Omega q + eps / sigma) q^T
with q = x + sigma eps (equation 18). Many independent chains give its mean error with an interval.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..networks.linear import Linear
from ..randomness import stream
from ..statistics.means import Interval, mean_interval
from .data import Data, Experiment, Request, Rows
from .style import CYCLE, PAGE, sheet
from .verdict import Finding, above

EIGENVALUES = (8.0, 5.0, 3.0, 2.0, 1.0)
SIGMA, GD_RATE, SGD_RATE = 1.0, 0.01, 0.001
SIZE = len(EIGENVALUES)
POINTS = 60  # points of a curve that are kept
RATE_TOLERANCE, TRACE_TOLERANCE, LEMMA_TOLERANCE = 0.01, 0.03, 0.02

Matrix = Float[np.ndarray, "D D"]


@dataclass(frozen=True)
class Settings:
    """Steps of either descent, chains of the stochastic one, samples behind the covariance."""

    gd_steps: int
    sgd_steps: int
    chains: int
    samples: int


SCALES: Mapping[str, Settings] = {
    "smoke": Settings(600, 6_000, 64, 200_000),
    "laptop": Settings(600, 10_000, 256, 2_000_000),
    "paper": Settings(600, 20_000, 1_000, 20_000_000),
}


def phi() -> tuple[Matrix, Matrix]:
    """Phi of our linear network in a rotated basis, and the eigenvectors of Phi Phi^T."""
    matrix = Linear((SIZE,), eigenvalues=EIGENVALUES, rotation=1).phi.double().numpy()
    return matrix, matrix / np.sqrt(EIGENVALUES)


def optimum(v: Float[np.ndarray, " D"]) -> Matrix:
    """Omega* of lemma 1."""
    return (np.outer(v, v) / (SIGMA**2 + 1) - np.eye(len(v))) / SIGMA**2


def rate(i: int) -> float:
    """The contraction of one step of gradient descent, 1 - 2 eta rho_i."""
    others = min(value for j, value in enumerate(EIGENVALUES) if j != i)
    rho = min((SIGMA**2 + 1) * EIGENVALUES[i], SIGMA**2 * others)
    return 1 - 2 * GD_RATE * rho


def trace(i: int) -> float:
    """The trace of the gradient's covariance at the optimum, from equation 19."""
    return 4 * (1 + SIZE * SIGMA**2) * EIGENVALUES[i] / (SIGMA**2 * (SIGMA**2 + 1))


def descent(matrix: Matrix, v: Float[np.ndarray, " D"], steps: int) -> Float[np.ndarray, " T"]:
    """|Omega_t - Omega*| of gradient descent from Theta = 0 (equation 15)."""
    omega, target = np.zeros((SIZE, SIZE)), optimum(v)
    second = np.outer(v, v) + SIGMA**2 * np.eye(SIZE)
    errors = []
    for _ in range(steps):
        errors.append(np.linalg.norm(omega - target))
        omega = omega - 2 * GD_RATE * matrix @ matrix.T @ (omega @ second + np.eye(SIZE))
    return np.array(errors)


def draws(
    v: Float[np.ndarray, " D"], count: int, generator: np.random.Generator
) -> tuple[Float[np.ndarray, "n D"], Float[np.ndarray, "n D"]]:
    """Noisy samples q = x + sigma eps, and the noise eps."""
    noise = generator.standard_normal((count, SIZE))
    return generator.standard_normal((count, 1)) * v + SIGMA * noise, noise


def stochastic(
    matrix: Matrix, v: Float[np.ndarray, " D"], settings: Settings, generator: np.random.Generator
) -> tuple[Float[np.ndarray, " T"], Float[np.ndarray, " chains"]]:
    """Root mean square error over the chains at each step, and each chain's over the last half."""
    target = optimum(v)
    omega = np.zeros((settings.chains, SIZE, SIZE))
    errors = np.empty(settings.sgd_steps)
    settled = np.zeros(settings.chains)
    metric = 2 * SGD_RATE * matrix @ matrix.T
    for step in range(settings.sgd_steps):
        square = np.square(omega - target).sum(axis=(1, 2))
        errors[step] = np.sqrt(square.mean())
        if step >= settings.sgd_steps // 2:
            settled += square
        q, noise = draws(v, settings.chains, generator)
        residual = np.einsum("nij,nj->ni", omega, q) + noise / SIGMA
        omega -= (residual @ metric.T)[:, :, None] * q[:, None, :]
    return errors, np.sqrt(settled / (settings.sgd_steps - settings.sgd_steps // 2))


def gradients(
    matrix: Matrix, v: Float[np.ndarray, " D"], count: int, generator: np.random.Generator
) -> tuple[float, float]:
    """The trace of the gradient's covariance at the optimum, and lemma 1's error by regression."""
    target, block = optimum(v), 100_000
    squares, moment, cross = 0.0, np.zeros((SIZE, SIZE)), np.zeros((SIZE, SIZE))
    for start in range(0, count, block):
        q, noise = draws(v, min(block, count - start), generator)
        p = (q @ target.T + noise / SIGMA) @ matrix
        squares += 4 * float((np.square(p).sum(axis=1) * np.square(q).sum(axis=1)).sum())
        moment += q.T @ q
        cross += noise.T @ q
    fitted = -cross / SIGMA @ np.linalg.inv(moment)  # the least-squares score of the samples
    return squares / count, float(np.linalg.norm(fitted - target) / np.linalg.norm(target))


def data(request: Request) -> Data:
    """Curves and summaries; `quantity` says which, `step` is empty for the latter."""
    settings = SCALES[request.scale]
    matrix, vectors = phi()
    generator = stream(0, "gradients of the theorem")
    rows: list[dict[str, Any]] = []

    def add(i: int, quantity: str, value: float, theory: float | None, step: int | None) -> None:
        about = {"direction": i + 1, "eigenvalue": EIGENVALUES[i], "quantity": quantity}
        rows.append(about | {"step": step, "value": float(value), "theory": theory})

    for i in range(SIZE):
        request.say(f"figure 4: direction {i + 1} of {SIZE}")
        v = vectors[:, i]
        errors = descent(matrix, v, settings.gd_steps)
        noisy, settled = stochastic(matrix, v, settings, generator)
        for step in _kept(len(errors)):
            add(i, "gd error", errors[step], None, step)
        for step in _kept(len(noisy)):
            add(i, "sgd error", noisy[step], None, step)
        add(i, "contraction", _contraction(errors), rate(i), None)
        for value in settled:
            add(i, "settled sgd error", value, None, None)
        measured, lemma = gradients(matrix, v, settings.samples, generator)
        add(i, "covariance trace", measured, trace(i), None)
        add(i, "lemma 1 relative error", lemma, 0.0, None)
    protocol = {
        "eigenvalues": list(EIGENVALUES),
        "sigma": SIGMA,
        "gd": {"rate": GD_RATE, "steps": settings.gd_steps},
        "sgd": {"rate": SGD_RATE, "steps": settings.sgd_steps, "chains": settings.chains},
        "samples": settings.samples,
    }
    return Data(rows, protocol)


def _kept(steps: int) -> list[int]:
    places = np.geomspace(1, steps, POINTS).astype(int) - 1
    return sorted({0, *places.tolist()})


def _contraction(errors: Float[np.ndarray, " T"]) -> float:
    """The contraction of one step over the last fifth, where only the slowest mode is left."""
    tail = errors[-len(errors) // 5 :]
    return float((tail[-1] / tail[0]) ** (1 / (len(tail) - 1)))


def _curve(rows: Rows, quantity: str, direction: int) -> tuple[list[int], list[float]]:
    own = [r for r in rows if r["quantity"] == quantity and r["direction"] == direction]
    return [r["step"] + 1 for r in own], [r["value"] for r in own]


def _values(rows: Rows, quantity: str, direction: int | None = None) -> list[float]:
    """The values of a quantity, in one direction or in all."""
    return [
        row["value"]
        for row in rows
        if row["quantity"] == quantity and direction in (None, row["direction"])
    ]


def draw(data: Data) -> Figure:
    """Errors of both descents, and the covariance against theory."""
    figure = sheet(PAGE, 2.3)
    axes = figure.subplots(1, 3)
    for axis, quantity, eta in ((axes[0], "gd error", GD_RATE), (axes[1], "sgd error", SGD_RATE)):
        for i, value in enumerate(EIGENVALUES):
            label = rf"$u_{i + 1}$, $\lambda_{i + 1}={value:g}$"
            axis.plot(*_curve(data.rows, quantity, i + 1), color=CYCLE[i], label=label)
        axis.set_yscale("log")
        axis.set_xlabel(f"step of {'SGD' if 'sgd' in quantity else 'GD'}, rate {eta:g}")
        axis.set_ylabel(r"error $\|\Omega_t-\Omega^*\|_F$")
    axes[0].annotate("$u_1$ to $u_4$", (320, 1e-2))
    axes[0].annotate("$u_5$", (300, 1e-8))
    axes[1].set_xscale("log")
    axes[1].legend()
    traces = _values(data.rows, "covariance trace")
    for eigenvalue, value, colour in zip(EIGENVALUES, traces, CYCLE, strict=False):
        axes[2].plot(eigenvalue, value, "o", color=colour)
    line = np.linspace(0, 1.08 * EIGENVALUES[0], 2)
    axes[2].plot(line, line * trace(0) / EIGENVALUES[0], color="0.5", linewidth=0.8, zorder=0)
    axes[2].annotate("theorem 1", (line[1] * 0.5, line[1] * 0.5 * 12), ha="right", va="bottom")
    axes[2].set_xlabel(r"eigenvalue $\lambda_i$")
    axes[2].set_ylabel("trace of the gradient's\ncovariance at the optimum")
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """Rates, traces, lemma 1, and the order in which stochastic descent settles."""
    chains = [_values(rows, "settled sgd error", i + 1) for i in range(SIZE)]
    gaps = [_gap(a, b) for a, b in pairwise(chains)]
    smallest = min(gaps, key=lambda gap: gap[0])
    return (
        _close(rows, "contraction", "gradient descent contracts as in theorem 1", RATE_TOLERANCE),
        _close(
            rows,
            "covariance trace",
            "the trace of the gradient's covariance is proportional to the eigenvalue",
            TRACE_TOLERANCE,
        ),
        Finding(
            "the error of stochastic descent settles in the order of the eigenvalues",
            "smallest difference between neighbours, larger minus smaller eigenvalue",
            *smallest,
            _all_positive([interval for _, interval in gaps]),
        ),
        Finding.below(
            "the optimal network is that of lemma 1",
            "largest relative distance to the regression on samples",
            max(_values(rows, "lemma 1 relative error"), default=None),
            LEMMA_TOLERANCE,
        ),
    )


def _close(rows: Rows, quantity: str, claim: str, tolerance: float) -> Finding:
    """Whether a quantity agrees with theory; for contractions c, 1 - c is compared."""
    pairs = [(r["value"], r["theory"]) for r in rows if r["quantity"] == quantity and r["theory"]]
    what = quantity
    if quantity == "contraction":
        pairs, what = [(1 - v, 1 - t) for v, t in pairs], "1 - contraction"
    worst = max((abs(v / t - 1) for v, t in pairs), default=None)
    statistic = f"largest relative deviation of the {what} from theory"
    return Finding.below(claim, statistic, worst, tolerance)


def _gap(first: list[float], second: list[float]) -> tuple[float, Interval | None]:
    """Mean of the first minus mean of the second, with a 95 % interval of independent chains."""
    (a, around_a), (b, around_b) = mean_interval(first), mean_interval(second)
    difference = (a or 0.0) - (b or 0.0)
    if around_a is None or around_b is None:
        return difference, None
    half = float(np.hypot(around_a[1] - around_a[0], around_b[1] - around_b[0])) / 2
    return difference, (difference - half, difference + half)


def _all_positive(intervals: list[Interval | None]) -> bool | None:
    """Whether every difference is above zero; False as soon as one is below."""
    judged = {above(interval) for interval in intervals}
    if False in judged:
        return False
    return None if None in judged else True


FIGURE_04 = Experiment(
    "theorem 1 in five dimensions",
    SCALES,
    data,
    draw,
    verdict,
    powerless=(),
    trials=False,
)
