"""Steps from a noisy level to a less noisy one, on any path x = a x_0 + b eps.

With predicted noise e at level t and x_0 = (x - b_t e) / a_t, the step to the level s is

    ddpm, ddim:  x_s = a_s x_0 + sqrt(b_s^2 - r^2) e + r z,      r = eta d,      z ~ N(0, I),
    euler:       x_s = x_t + (a_s - a_t) x_0 + (b_s - b_t) e,
    heun:        the same with the means of x_0 and e at t and at the Euler step's end.

d is the standard deviation of x_s given x_t and x_0; after the last level a_s = 1 and b_s = 0. With
eta = 1 it is ancestral DDPM sampling, with eta = 0 DDIM. Euler's step follows the equation dx = x_0
da + e db. It is the usual step of a flow, x_t + (s - t) velocity, and of EDM, and its result a_s
x_0 + b_s e is that of DDIM. Heun's step needs the network twice and is of second order. Its last
step, to a level without noise, is Euler's.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from ..errors import InputError, expected_one_of
from ..path import DiffusionPath, Schedule

SOLVERS = ("ddpm", "ddim", "euler", "heun")
Predict = Callable[[Tensor, int], Tensor]  # noise at a level
Draw = Callable[[], Tensor]  # fresh noise


@dataclass(frozen=True)
class Step:
    """A step to take.

    Attributes:
        x: the sample at this level.
        eps: the noise predicted in it.
        level: this level.
        following: the next, less noisy one; None for the data.
        path: from data to noise.
        predict: predicted noise of a sample at a level.
        draw: gives fresh noise.
    """

    x: Tensor
    eps: Tensor
    level: int
    following: int | None
    path: DiffusionPath
    predict: Predict
    draw: Draw

    @property
    def clean(self) -> Tensor:
        """The clean sample that follows from the predicted noise."""
        return _clean(self.x, self.eps, self.level, self.path)


class Solver(ABC):
    """A rule for one step."""

    @abstractmethod
    def take(self, step: Step) -> Tensor:
        """The sample at the following level."""


@dataclass(frozen=True)
class Ancestral(Solver):
    """DDIM's formula; ancestral DDPM sampling at eta = 1."""

    eta: float = 1.0

    def take(self, step: Step) -> Tensor:
        signal, power = _ends(step.path, step.following)
        fresh = self.eta * step.path.posterior_deviation(step.level, step.following)
        x = signal * step.clean + max(power - fresh**2, 0.0) ** 0.5 * step.eps
        return x + fresh * step.draw().to(x.device) if fresh > 0 else x


class Heun(Solver):
    """The trapezoidal rule, with Euler's step for its end."""

    def take(self, step: Step) -> Tensor:
        ahead = Ancestral(0.0).take(step)
        if step.following is None:
            return ahead
        path, following = step.path, step.following
        eps_ahead = step.predict(ahead, following)
        clean_ahead = _clean(ahead, eps_ahead, following, path)
        signal = float(path.signal[following]) - float(path.signal[step.level])
        noise = float(path.noise[following]) - float(path.noise[step.level])
        return step.x + signal * (step.clean + clean_ahead) / 2 + noise * (step.eps + eps_ahead) / 2


def _ends(path: DiffusionPath, following: int | None) -> tuple[float, float]:
    """a_s and b_s^2."""
    if following is None:
        return 1.0, 0.0
    return float(path.signal_power[following]) ** 0.5, float(path.noise_power[following])


def _clean(x: Tensor, eps: Tensor, level: int, path: DiffusionPath) -> Tensor:
    signal, noise = float(path.signal_power[level]), float(path.noise_power[level])
    return (x - noise**0.5 * eps) / signal**0.5


def solver_named(name: str | None, eta: float | None, path: DiffusionPath) -> Solver:
    """The solver with a name.

    Args:
        name: one of `SOLVERS`. None stands for DDIM's formula if eta is given, otherwise for
            `ddpm` if the path preserves variance and `euler` if not.
        eta: the eta of DDIM's formula, between 0 (`ddim`) and 1 (`ddpm`).
        path: from data to noise.

    Raises:
        InputError: for an unknown name, an eta out of range or one that the solver does not have,
            or a path with a level without signal.
    """
    if eta is not None and not 0 <= eta <= 1:
        raise InputError(f"eta is between 0 (deterministic) and 1 (ancestral), got {eta}")
    if name is None:
        name = ("ddpm" if isinstance(path, Schedule) else "euler") if eta is None else "eta"
    elif name not in SOLVERS:
        raise InputError(f"unknown solver {name!r}{expected_one_of(name, SOLVERS)}")
    etas = {"ddpm": 1.0, "ddim": 0.0, "euler": 0.0, "eta": eta}
    if eta is not None and etas.get(name) != eta:
        raise InputError(f"the solver {name} has no eta of {eta:g}: leave out one of them")
    if not path.signal.all():
        raise InputError(
            f"the path {path.kind!r} has a level without signal, which noise alone cannot be "
            "sampled from: leave that level out of the path"
        )
    return Heun() if name == "heun" else Ancestral(etas[name] or 0.0)
