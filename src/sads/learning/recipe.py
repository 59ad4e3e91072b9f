"""The training that is forecast, followed or judged: optimiser, batches, and what the loss weighs.

The loss is the mean over batch and pixels of w_t |f - target|^2 with t drawn from p; both are
uniform unless given, and the target is what the network itself predicts. What is *reported*
of a network, its learned share and its risk, is uniform over the timesteps whatever the loss was,
so that trainings can be compared.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..errors import InputError
from ..foundation.choices import Optimiser
from ..path import DiffusionPath

OPTIMISERS: tuple[Optimiser, ...] = get_args(Optimiser)
ADAM_EPS = 1e-8


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a network is trained.

    Attributes:
        optimiser: `adam`, `adamw` or `sgd`.
        learning_rate: after the warm-up.
        batch_size: samples a step.
        clip: largest norm of a gradient; None for no limit.
        weight_decay: for `adamw` and `sgd`; a step adds this share of the parameters to its move.
        warm_up: steps over which the learning rate rises linearly.
        timestep_law: p, the probability of each timestep in a batch; None for a uniform law.
        loss_weights: w, the weight of each timestep in the loss; None for equal weights.
    """

    optimiser: Optimiser = "adam"
    learning_rate: float = 1e-3
    batch_size: int = 64
    clip: float | None = 1.0
    weight_decay: float = 0.0
    warm_up: int = 0
    timestep_law: Float[np.ndarray, " T"] | None = None
    loss_weights: Float[np.ndarray, " T"] | None = None

    def __post_init__(self) -> None:
        if self.optimiser not in OPTIMISERS:
            known = ", ".join(OPTIMISERS)
            raise InputError(f"unknown optimiser {self.optimiser!r}: expected one of {known}")
        _positive("the learning rate", self.learning_rate)
        if self.clip is not None:
            _positive("the largest norm of a gradient", self.clip)
        if self.batch_size < 1:
            raise InputError(f"a batch has at least one sample, got {self.batch_size}")
        if self.warm_up < 0:
            raise InputError(f"the warm-up is a number of steps from 0 on, got {self.warm_up}")
        if not 0 <= self.weight_decay < math.inf:
            raise InputError(f"the weight decay is a number from 0 on, got {self.weight_decay}")
        if self.weight_decay and self.optimiser == "adam":
            raise InputError("adam has no weight decay here: choose the optimiser adamw")
        for what, values in (
            ("the law of timesteps", self.timestep_law),
            ("the weights of the loss", self.loss_weights),
        ):
            bad = values is not None and not (np.isfinite(values).all() and (values >= 0).all())
            if bad or (values is not None and not values.sum() > 0):
                raise InputError(f"{what} are finite numbers from 0 on and not all 0")

    def check_steps(self, schedule: DiffusionPath) -> None:
        """Refuse laws and weights for another number of timesteps."""
        for values in (self.timestep_law, self.loss_weights):
            if values is not None and values.shape != (schedule.steps,):
                raise InputError(
                    f"a law or weighting of timesteps has {schedule.steps} entries, one for each, "
                    f"got an array of shape {values.shape}"
                )

    def draw_timesteps(
        self, schedule: DiffusionPath, count: int, generator: np.random.Generator
    ) -> Int[np.ndarray, " N"]:
        """Timesteps of a batch."""
        if self.timestep_law is None:
            return generator.integers(schedule.steps, size=count)
        law = self.timestep_law / self.timestep_law.sum()
        return generator.choice(schedule.steps, size=count, p=law)

    def weights_at(self, t: Tensor) -> Float[np.ndarray, " N"]:
        """The weights of the loss at the timesteps of a batch."""
        return np.ones(len(t)) if self.loss_weights is None else self.loss_weights[t.numpy()]

    def emphasis(self, schedule: DiffusionPath) -> Float[np.ndarray, " T"]:
        """How much each timestep counts in the loss: T p w, which is one for the plain loss."""
        emphasis = np.ones(schedule.steps)
        if self.timestep_law is not None:
            emphasis = emphasis * self.timestep_law / self.timestep_law.mean()
        return emphasis if self.loss_weights is None else emphasis * self.loss_weights

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        return self.learning_rate * min(1.0, (step + 1) / max(self.warm_up, 1))

    def torch_optimiser(self, network: nn.Module) -> torch.optim.Optimizer:
        """The optimiser itself."""
        parameters = [p for p in network.parameters() if p.requires_grad]
        rate, decay = self.learning_rate, self.weight_decay
        if self.optimiser == "sgd":
            return torch.optim.SGD(parameters, lr=rate, weight_decay=decay)
        if self.optimiser == "adamw":
            return torch.optim.AdamW(parameters, lr=rate, eps=ADAM_EPS, weight_decay=decay)
        return torch.optim.Adam(parameters, lr=rate, eps=ADAM_EPS)

    def summary(self) -> dict[str, Any]:
        """Plain values; laws and weights by their digests."""
        return {
            "optimiser": self.optimiser,
            "learning_rate": self.learning_rate,
            "batch_size": self.batch_size,
            "clip": self.clip,
            "weight_decay": self.weight_decay,
            "warm_up": self.warm_up,
            "timestep_law": _digest(self.timestep_law),
            "loss_weights": _digest(self.loss_weights),
        }


def _positive(what: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise InputError(f"{what} is a positive number, got {value}")


def _digest(values: Float[np.ndarray, " T"] | None) -> str | None:
    if values is None:
        return None
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()[:16]
