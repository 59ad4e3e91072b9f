"""One training step: how much of the target it learns, and how much noise its batch adds.

Let f be a network at initialisation, g the gradient of its loss on a batch, and P(g) what the
optimiser makes of it: g for SGD (clipped), g / (|g| + 1e-8) for the first step of Adam, both plus
the decay. A step of rate eta changes the output at an input y, drawn independently of the batch, by
-eta J(y) P(g). For a group of directions,

    drift = E_y <-J E[P(g)], eps*> / E_y <eps*, eps*>      how fast the target is learned,
    noise = E_y Var_g |J P(g)|^2 / directions              the noise that batches add.

Two batches are drawn for each network, with products a_1 = J P(g_1) and a_2 = J P(g_2) at common
inputs y. Then -(a_1 + a_2) / 2 stands for -J E[P(g)] without bias, since y is independent of both,
and |a_1 - a_2|^2 / 2 for the variance. So both numbers, for all directions, cost two backward
passes and two products a network, and no D x D matrix.

The noise that is left *late* in training comes from batches at the optimum, whose residual is
eps* - eps instead of f - eps; `at_optimum` takes the gradients there.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..inspection.jacobian_products import gradient, moving_parameters
from .forecast_method import Method
from .forecast_setting import Scene
from .noisy_samples import Noisy
from .recipe import ADAM_EPS, Recipe

Gradients = dict[str, Tensor]


@dataclass(frozen=True)
class OneStep(Method):
    """The first step of the optimiser.

    Attributes:
        at_optimum: gradients of the optimum's residual eps* - eps, for the noise left late.
        points: the number of inputs y for each network; as many as fit unless given.
    """

    at_optimum: bool = False
    points: int | None = None
    name = "one step"

    def row(self, scene: Scene, number: int) -> Float[np.ndarray, "3 k"]:
        """Rows <-a, eps*>, <eps*, eps*> and <a_1 - a_2, a_1 - a_2> / 2 a direction."""
        network = scene.member(number).eval()
        generator = scene.generator(number)
        here = scene.look(self.points or scene.points, generator)
        first, second = (
            scene.moved(network, self._moves(scene, network, scene.batch(generator)), here)
            for _ in range(2)
        )
        apart = scene.directions.products
        mean, half = (first + second) / 2, first - second
        return np.stack(
            [
                -apart(mean, here.optimum).mean(axis=0),
                apart(here.optimum, here.optimum).mean(axis=0),
                apart(half, half).mean(axis=0) / 2 / scene.directions.widths,
            ]
        )

    def _moves(self, scene: Scene, network: nn.Module, batch: Noisy) -> Gradients:
        gradients = batch_gradient(scene, network, batch, at_optimum=self.at_optimum)
        return first_move(gradients, moving_parameters(network), scene.recipe)


def batch_gradient(
    scene: Scene, network: nn.Module, batch: Noisy, *, at_optimum: bool = False
) -> Gradients:
    """The gradient of the loss on a batch; at the optimum, of a network that returns eps* there."""
    parameters = moving_parameters(network)
    total: Gradients = {}
    for part in scene.parts(batch):
        weights = scene.recipe.weights_at(part.t) * (2 / batch.eps.size)
        pull = partial(_slope, part, weights, part.optimum if at_optimum else None)
        for name, value in gradient(network, parameters, part.x, part.t, pull).items():
            total[name] = total[name] + value if name in total else value
    return total


def _slope(
    part: Noisy,
    weights: Float[np.ndarray, " N"],
    instead: Float[np.ndarray, "N D"] | None,
    output: Tensor,
) -> Tensor:
    """The loss's derivative by the output (N, *shape), or at what stands for the output."""
    at = output.double() if instead is None else torch.from_numpy(instead).view(output.shape)
    residual = at - torch.from_numpy(part.eps).view(output.shape)
    return (residual * torch.from_numpy(weights).view(-1, *[1] * (output.ndim - 1))).float()


def first_move(gradients: Gradients, parameters: Gradients, recipe: Recipe) -> Gradients:
    """P(g), the first step of the optimiser per unit of its rate."""
    if recipe.optimiser == "sgd":
        moves = _clipped(gradients, recipe.clip)
    else:
        moves = {n: g / (g.abs() + ADAM_EPS) for n, g in gradients.items()}
    if not recipe.weight_decay:
        return moves
    return {n: m + recipe.weight_decay * parameters[n] for n, m in moves.items()}


def _clipped(gradients: Gradients, largest: float | None) -> Gradients:
    norm = float(torch.stack([g.double().square().sum() for g in gradients.values()]).sum().sqrt())
    if largest is None or norm <= largest:
        return gradients
    return {n: g * (largest / norm) for n, g in gradients.items()}
