"""What every kind of forecast looks at: networks of a family, data, a target and directions."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..data.laws import Law
from ..directions.sets import DirectionSet
from ..errors import InputError, NetworkError
from ..inspection.jacobian_products import Way, choose_way, moving_parameters, product
from ..networks import ScoreFamily
from ..networks.adapters import own_output, own_prediction
from ..path import Prediction
from ..randomness import sequence, stream
from .noisy_samples import Noisy, draw_noisy
from .recipe import Recipe
from .references import Reference

TOGETHER = 2**19  # entries of samples that a network is called with at once
POINTS, FEWEST_POINTS = 128, 8  # inputs at which a network is looked at


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that decides a forecast, except its method and number of networks.

    Attributes:
        family: the architecture.
        reference: the data that batches are drawn from.
        target: the law whose optimum is to be learned.
        directions: the directions that are told apart.
        recipe: the training that is forecast.
        seed: the seed of all draws.
    """

    family: ScoreFamily
    reference: Reference
    target: Law
    directions: DirectionSet
    recipe: Recipe
    seed: int = 0

    def __post_init__(self) -> None:
        size, name = self.family.size, self.family.name
        if self.reference.size != size or self.target.size != size:
            raise InputError(f"{name} takes {size} entries, the data have {self.target.size}")
        if self.directions.shape != self.family.shape:
            raise InputError(
                f"the directions are of samples {self.directions.shape}, {name} takes "
                f"{self.family.shape}"
            )
        self.recipe.check_steps(self.family.schedule)

    def network_seed(self, number: int) -> int:
        """The seed of the network with this number."""
        word = sequence(self.seed, "networks of a forecast", number).generate_state(1, np.uint64)
        return int(word[0]) >> 1

    def member(self, number: int) -> nn.Module:
        """The fresh network with this number, which returns what it itself predicts."""
        return own_output(self.family.member(self.network_seed(number)))

    @cached_property
    def prediction(self) -> Prediction:
        """What the networks themselves predict."""
        return own_prediction(self.family.member(self.network_seed(0)))

    def generator(self, number: int) -> np.random.Generator:
        """A generator for the draws of the network with this number."""
        return stream(self.seed, "batches of a forecast", number)

    @cached_property
    def way(self) -> Way:
        """How products with the Jacobian are computed."""
        network = self.member(0).eval()
        here = self.look(1, stream(self.seed, "a trial of Jacobian products"))
        return choose_way(network, here.x, here.t)

    def look(self, count: int, generator: np.random.Generator) -> Noisy:
        """Noisy samples at which a network is judged, uniform over the timesteps."""
        return self.noisy_at(generator.integers(self.family.schedule.steps, size=count), generator)

    def batch(self, generator: np.random.Generator) -> Noisy:
        """Noisy samples of one training step."""
        count, schedule = self.recipe.batch_size, self.family.schedule
        return self.noisy_at(self.recipe.draw_timesteps(schedule, count, generator), generator)

    def noisy_at(self, t: Int[np.ndarray, " N"], generator: np.random.Generator) -> Noisy:
        """Noisy samples at given timesteps."""
        family = self.family
        return draw_noisy(
            *(self.reference, self.target, family.schedule, family.shape, t, generator),
            prediction=self.prediction,
        )

    @property
    def points(self) -> int:
        """Inputs at which a network is looked at, fewer where samples are large."""
        return max(FEWEST_POINTS, min(POINTS, TOGETHER // self.family.size))

    def parts(self, noisy: Noisy) -> list[Noisy]:
        """Noisy samples in parts that fit into memory together with all their activations."""
        size = max(1, TOGETHER // self.family.size)
        return [noisy.part(slice(i, i + size)) for i in range(0, len(noisy), size)]

    def predicted(self, network: nn.Module, noisy: Noisy) -> Float[np.ndarray, "N D"]:
        """What a network predicts."""
        with torch.no_grad():
            parts = [network(part.x, part.t).flatten(1).double() for part in self.parts(noisy)]
        return self._finite(torch.cat(parts).numpy())

    def moved(
        self, network: nn.Module, along: dict[str, Tensor], noisy: Noisy
    ) -> Float[np.ndarray, "N D"]:
        """J v: how the output of a network changes when its parameters move along v."""
        parameters = moving_parameters(network)
        parts = [
            product(network, parameters, along, part.x, part.t, self.way).flatten(1).double()
            for part in self.parts(noisy)
        ]
        return self._finite(torch.cat(parts).numpy())

    def _finite(self, values: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        if not np.isfinite(values).all():
            raise NetworkError(f"{self.family.name}: a training step gives NaN or infinity")
        return values
