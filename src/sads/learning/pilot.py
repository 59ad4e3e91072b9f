"""Real training steps, measured direction by direction on the way.

After s steps the network f has taken up the share

    share_u(s) = E <f, eps*>_u / E <eps*, eps*>_u

of the target along u and leaves the risk R_u(s) = E <f - eps*, f - eps*>_u. Both are measured at
noisy samples that are drawn once for a training and used at all its moments, so that the sampling
noise of the target cancels in the share.

Every step sees fresh samples of the data's law, so there is nothing to overfit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..errors import InputError
from ..networks import ScoreFamily
from ..networks.adapters import own_output
from ..networks.isolation import OwnDraws
from ..randomness import stream
from .forecast_method import Method
from .forecast_setting import Scene
from .noisy_samples import Noisy

POINTS = 512  # noisy samples for each measurement


@dataclass(frozen=True, eq=False)
class Followed:
    """One training, by moment and group of directions.

    Attributes:
        moments: the steps taken at each measurement.
        taken: E <f, eps*> in each group.
        energy: E <eps*, eps*> in each group, at the same samples.
        risk: E <f - eps*, f - eps*> in each group.
    """

    moments: Int[np.ndarray, " m"]
    taken: Float[np.ndarray, "m k"]
    energy: Float[np.ndarray, " k"]
    risk: Float[np.ndarray, "m k"]

    @property
    def shares(self) -> Float[np.ndarray, "m k"]:
        """The learned share of each group."""
        return self.taken / self.energy


class Training:
    """A network that is trained by a recipe on fresh draws of the data, step by step as asked.

    Attributes:
        scene: the architecture, its data and the recipe.
        network: the network now, with the output that it is trained on.
        step: the number of steps taken.
    """

    def __init__(self, scene: Scene, seed: int):
        self.scene: Scene = scene
        self.step: int = 0
        self._member: nn.Module = scene.family.member(seed)
        self.network: nn.Module = own_output(self._member)
        self._optimiser = scene.recipe.torch_optimiser(self.network)
        self._batches = stream(seed, "batches of a followed training")
        self._draws = OwnDraws(seed, "a network's own draws in a followed training")

    @property
    def family(self) -> ScoreFamily:
        """The family of the network."""
        return self.scene.family

    def advance(self, steps: int) -> None:
        """Train until this many steps were taken in all."""
        self.network.train()
        while self.step < steps:
            batch = self.scene.batch(self._batches)
            self._draws(lambda batch=batch: self._take_step(batch), self.step)
            self.step += 1

    def predict(self, x: Tensor, t: Tensor) -> Tensor:
        """The noise that the network predicts now."""
        return self._member.eval()(x, t)

    def _take_step(self, batch: Noisy) -> None:
        recipe = self.scene.recipe
        self._optimiser.zero_grad(set_to_none=True)
        for part in self.scene.parts(batch):
            eps = torch.from_numpy(part.eps).float().view(part.x.shape)
            squares = (self.network(part.x, part.t) - eps).square().flatten(1).mean(dim=1)
            weights = torch.from_numpy(recipe.weights_at(part.t)).float()
            ((squares * weights).sum() / len(batch)).backward()
        if recipe.clip is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), recipe.clip)
        for group in self._optimiser.param_groups:
            group["lr"] = recipe.rate(self.step)
        self._optimiser.step()


@dataclass(frozen=True)
class Pilot(Method):
    """A few real steps: the share learned after a quarter of them, and the risk left after all.

    Attributes:
        steps: the steps of each network.
        points: the number of noisy samples for each measurement; as many as fit unless given.
    """

    steps: int = 32
    points: int | None = None
    name = "pilot"

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InputError(f"a pilot takes at least one step, got {self.steps}")

    def row(self, scene: Scene, number: int) -> Float[np.ndarray, "3 k"]:
        """Rows <f, eps*> and <eps*, eps*> early, and the risk a direction at the end."""
        followed = follow_training(
            scene,
            seed=scene.network_seed(number),
            moments=sorted({max(1, self.steps // 4), self.steps}),
            points=self.points or min(POINTS, 4 * scene.points),
        )
        return np.stack(
            [followed.taken[0], followed.energy, followed.risk[-1] / scene.directions.widths]
        )


def follow_training(
    scene: Scene,
    *,
    seed: int,
    moments: Sequence[int],
    points: int = POINTS,
    last_points: int | None = None,
) -> Followed:
    """Train a fresh network and measure it after given numbers of steps.

    Args:
        scene: the architecture, its data, the directions and the recipe.
        seed: the seed of the network and all draws.
        moments: ascending numbers of steps after which to measure; training ends at the last.
        points: the number of noisy samples for each measurement.
        last_points: further noisy samples at the last moment, for its risk.
    """
    if not moments or list(moments) != sorted(set(moments)) or moments[0] < 0:
        raise InputError(f"moments are ascending numbers of steps, got {list(moments)}")
    training = Training(scene, seed)
    network = training.network
    look = stream(seed, "points of a followed training")
    here = scene.look(points, look)
    looks: list[Float[np.ndarray, "3 k"]] = []
    for moment in moments:
        training.advance(moment)
        looks.append(_shares_and_risk(scene, network, here))
    rows = np.stack(looks)
    risk = rows[:, 2].copy()
    if last_points is not None:
        risk[-1] = _shares_and_risk(scene, network, scene.look(last_points, look))[2]
    return Followed(np.array(moments), rows[:, 0], rows[0, 1], risk)


def _shares_and_risk(scene: Scene, network: nn.Module, noisy: Noisy) -> Float[np.ndarray, "3 k"]:
    """Rows <f, eps*>, <eps*, eps*> and <f - eps*, f - eps*>, means over the samples."""
    directions = scene.directions
    own = directions.coefficients(scene.predicted(network.eval(), noisy))
    optimum = directions.coefficients(noisy.optimum)
    values = (own * optimum, optimum**2, (own - optimum) ** 2)
    return np.stack([directions.grouped(value).mean(axis=0) for value in values])
