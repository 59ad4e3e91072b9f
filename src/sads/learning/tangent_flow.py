"""The tangent flow: training a network that is linear in its parameters, in a small space.

Near initialisation f = f_0 + J (theta - theta_0). The target eps* is cut into its parts phi_i, one
for each group of directions and each bin of noise levels, and the network is followed in the span
of these and of its own initial output,

    f = sum_i c_i phi_i + c_0 f_0,      c_i = 0 and c_0 = 1 at the start.

With the residual's coefficients a_i = c_i - 1, a_0 = c_0 and the vectors v_i = E[J^T phi_i] in the
space of parameters, the gradient is 2/D sum_i e_i a_i v_i, e_i the weight of the bin in the loss,
and a move m of the parameters changes the coefficients by

    dc_i = <v_i', m> / E <phi_i, phi_i>,      v_i' from separate inputs, to avoid bias.

SGD moves by the gradient. Adam divides its mean by the root of its mean square, entry by entry,

    m = -eta mean(g) / sqrt(mean(g^2) + variance of a batch's g),

with the moving averages of its betas; the variance falls from its value at the start to that at the
optimum with the square of what is not learned yet. The divisor is renewed at steps 1, 2, 4, 8, ...,
between which the flow is linear in few coefficients.

The share of each group is taken when half of the target is learned, or after the planned steps. The
noise is that of one step (`one_step`). The method costs two backward passes on a few inputs for
each part phi_i, and keeps 2 parts x parameters numbers in memory.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..devices import require_memory
from ..errors import InputError
from ..inspection.jacobian_products import moving_parameters
from ..randomness import stream
from .forecast_method import Method
from .forecast_setting import Scene
from .noisy_samples import Noisy
from .one_step import OneStep, batch_gradient
from .projections import group_parts
from .recipe import ADAM_EPS, Recipe

BETAS = 0.9, 0.999
BATCHES = 4  # behind the variance of a gradient


@dataclass(frozen=True)
class TangentFlow(Method):
    """The linearised dynamics of each direction's gain by noise level.

    Attributes:
        steps: the planned number of steps.
        bins: the number of bins of noise levels, of equal probability.
        points: the number of inputs in each bin; as many as fit unless given.
    """

    steps: int = 300
    bins: int = 2
    points: int | None = None
    name = "tangent flow"

    def __post_init__(self) -> None:
        if self.steps < 1 or self.bins < 1:
            raise InputError("a tangent flow takes at least one step and one bin of noise levels")

    def row(self, scene: Scene, number: int) -> Float[np.ndarray, "3 k"]:
        """Rows <c phi, eps*> and <eps*, eps*> when half is learned, and the noise of one step."""
        network = scene.member(number).eval()
        noise = OneStep().row(scene, number)[2]
        generator = stream(scene.seed, "draws of a tangent flow", number)
        flow = _Flow(self, scene, network, generator)
        gains, energy = flow.when_half_is_learned()
        return np.stack([(gains * energy).sum(axis=0), energy.sum(axis=0), noise])


class _Flow:
    """One network's coefficients, vectors and divisors."""

    def __init__(
        self, flow: TangentFlow, scene: Scene, network: nn.Module, generator: np.random.Generator
    ):
        self.flow, self.scene, self.network = flow, scene, network
        parameters = moving_parameters(network)
        self.groups, self.entries = len(scene.directions.widths), scene.family.size
        count = sum(p.numel() for p in parameters.values())
        needed = 2 * 4 * flow.bins * (self.groups + 1) * count
        require_memory(needed, "the tangent flow", "choose fewer directions, or the one-step way")
        both = [self._vectors(generator) for _ in range(2)]
        self.ahead, self.energy = both[0]
        self.judged, other = both[1]
        self.energy = (self.energy + other) / 2
        self.start, self.end = (self._variance(generator, at_optimum=a) for a in (False, True))
        self.emphasis = self._emphasis()

    def _vectors(
        self, generator: np.random.Generator
    ) -> tuple[Float[Tensor, "m P"], Float[np.ndarray, "bins k1"]]:
        """v_i of all parts, bin by bin, f_0 first in each; and their energies."""
        steps, bins = self.scene.family.schedule.steps, self.flow.bins
        each = self.flow.points or max(4, self.scene.points // bins)
        rows, energies = [], []
        for number in range(bins):
            first, end = steps * number // bins, steps * (number + 1) // bins
            t = generator.integers(first, end, size=each)
            own, energy = self._bin(self.scene.noisy_at(t, generator))
            rows.append(own / bins)
            energies.append(energy / bins)
        return torch.cat(rows), np.stack(energies)

    def _bin(self, here: Noisy) -> tuple[Float[Tensor, "k1 P"], Float[np.ndarray, " k1"]]:
        """Mean of J^T phi over the inputs of a bin for f_0 and each group, with energies."""
        values = [p for p in self.network.parameters() if p.requires_grad]
        with torch.enable_grad():
            output = self.network(here.x, here.t)
        own = output.detach().flatten(1).double().numpy()
        parts = [own, *group_parts(self.scene.directions, here.optimum)]
        rows = []
        for part in parts:
            pull = torch.from_numpy(part / len(here)).to(output).view(output.shape)
            slopes = torch.autograd.grad(output, values, pull, retain_graph=True, allow_unused=True)
            flat = [
                torch.zeros(v.numel()) if s is None else s.flatten()
                for s, v in zip(slopes, values, strict=True)
            ]
            rows.append(torch.cat(flat))
        energies = np.array([np.square(part).sum(axis=1).mean() for part in parts])
        return torch.stack(rows), energies

    def _variance(self, generator: np.random.Generator, *, at_optimum: bool) -> Float[Tensor, " P"]:
        """Variance of a batch's gradient, entry by entry."""
        rows = []
        for _ in range(BATCHES):
            batch = self.scene.batch(generator)
            slopes = batch_gradient(self.scene, self.network, batch, at_optimum=at_optimum)
            rows.append(torch.cat([s.flatten() for s in slopes.values()]))
        return torch.stack(rows).var(dim=0)

    def _emphasis(self) -> Float[np.ndarray, " m"]:
        """The weight of the bin of each part in the loss."""
        schedule = self.scene.family.schedule
        parts = np.array_split(self.scene.recipe.emphasis(schedule), self.flow.bins)
        return np.repeat([part.mean() for part in parts], self.groups + 1)

    def when_half_is_learned(
        self,
    ) -> tuple[Float[np.ndarray, "bins k"], Float[np.ndarray, "bins k"]]:
        """Gains c and energies of the groups by bin."""
        shape = (self.flow.bins, self.groups + 1)
        energy = self.energy[:, 1:]
        gains = np.zeros(shape)
        gains[:, 0] = 1.0
        target = np.ones(shape)
        target[:, 0] = 0.0
        state = _Averages(self.scene.recipe)
        couplings: Float[np.ndarray, "m m"] | None = None
        scale = np.maximum(self.energy.flatten(), 1e-300)
        for step in range(self.flow.steps):
            slopes = 2 / self.entries * self.emphasis * (gains - target).flatten()
            if step & (step - 1) == 0:  # 0, 1, 2, 4, 8, ...
                share = float((gains[:, 1:] * energy).sum() / energy.sum())
                variance = self.end + (self.start - self.end) * (1 - share) ** 2
                along = torch.from_numpy(slopes).float() @ self.ahead
                divisor = state.divisor(along, variance, step)
                couplings = ((self.judged / divisor) @ self.ahead.T).double().numpy()
            moved = couplings @ state.direction(slopes, step)
            before = gains
            gains = gains - self.scene.recipe.rate(step) * (moved / scale).reshape(shape)
            overall = [float((g[:, 1:] * energy).sum() / energy.sum()) for g in (before, gains)]
            if overall[1] >= 0.5:
                weight = (0.5 - overall[0]) / max(overall[1] - overall[0], 1e-300)
                gains = (1 - weight) * before + weight * gains
                break
            if not np.isfinite(gains).all() or np.abs(gains).max() > 1e6:
                gains = before  # the linear flow no longer describes the training
                break
        return gains[:, 1:], energy


class _Averages:
    """Moving averages of Adam, in few coefficients; SGD has none."""

    def __init__(self, recipe: Recipe):
        self.recipe = recipe
        self.mean: Float[np.ndarray, " m"] | float = 0.0
        self.square: Tensor | None = None
        self.counted = 0

    def direction(self, slopes: Float[np.ndarray, " m"], step: int) -> Float[np.ndarray, " m"]:
        """Coefficients of the mean gradient."""
        if self.recipe.optimiser == "sgd":
            return slopes
        self.mean = BETAS[0] * self.mean + (1 - BETAS[0]) * slopes
        return np.asarray(self.mean / (1 - BETAS[0] ** (step + 1)))

    def divisor(
        self, gradient: Float[Tensor, " P"], variance: Float[Tensor, " P"], step: int
    ) -> Float[Tensor, " P"]:
        """What a gradient is divided by from this step until the next renewal."""
        if self.recipe.optimiser == "sgd":
            norm = float((gradient.square() + variance).sum().sqrt())
            clip = self.recipe.clip
            return torch.tensor(1.0 if clip is None else max(1.0, norm / clip))
        now = gradient.square() + variance
        passed = step - self.counted
        # In the first thousand steps Adam's average of squares is nearly that over all steps so
        # far; those since the last renewal are taken for the square now.
        weight = passed / (step + 1)
        self.square = now if self.square is None else (1 - weight) * self.square + weight * now
        self.counted = step
        return self.square.sqrt() + ADAM_EPS
