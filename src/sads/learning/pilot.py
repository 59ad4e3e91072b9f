"""Real training steps, looked at direction by direction as they go.

After s steps the network f has taken up the share

    share_u(s) = E <f, eps*>_u / E <eps*, eps*>_u

of the target along u and leaves the risk R_u(s) = E <f - eps*, f - eps*>_u. Both are measured at
noisy samples that are drawn once for a training and used at all its moments, so that the sampling
noise of the target cancels in the share.

Every step sees fresh samples of the data's law: there is nothing to overfit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import nn

from ..data.laws import Law
from ..directions.sets import DirectionSet
from ..errors import InputError, NetworkError
from ..networks import ScoreFamily
from ..networks.isolation import OwnDraws
from ..randomness import stream
from .noisy import Noisy, draw_noisy
from .references import Reference

TOGETHER = 256  # samples evaluated at once


@dataclass(frozen=True)
class Protocol:
    """How the steps are taken.

    Attributes:
        learning_rate: of Adam.
        batch_size: fresh samples a step.
        clip: largest norm of a gradient.
    """

    learning_rate: float = 1e-3
    batch_size: int = 64
    clip: float = 1.0


@dataclass(frozen=True, eq=False)
class Followed:
    """One training, by moment and group of directions.

    Attributes:
        moments: steps taken at each look.
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


def follow_training(
    family: ScoreFamily,
    reference: Reference,
    target: Law,
    directions: DirectionSet,
    *,
    protocol: Protocol,
    moments: Sequence[int],
    seed: int,
    points: int = 512,
    last_points: int | None = None,
) -> Followed:
    """Train a fresh network and look at it after given numbers of steps.

    Args:
        family: the architecture.
        reference: the data that batches are drawn from.
        target: the law whose optimum is to be learned.
        directions: what is told apart.
        protocol: how the steps are taken.
        moments: ascending numbers of steps after which to look; the last is where training ends.
        seed: of the network and all draws.
        points: noisy samples at which it is looked at.
        last_points: as many more at the last moment alone, for its risk.
    """
    if not moments or list(moments) != sorted(set(moments)) or moments[0] < 0:
        raise InputError(f"moments are ascending numbers of steps, got {list(moments)}")
    network = family.member(seed).train()
    optimiser = torch.optim.Adam(network.parameters(), lr=protocol.learning_rate)
    batches = stream(seed, "batches of a followed training")
    look = stream(seed, "points of a followed training")

    def noisy(count: int, generator: np.random.Generator) -> Noisy:
        return draw_noisy(reference, target, family.schedule, family.shape, count, generator)

    here = noisy(points, look)
    draws = OwnDraws(seed, "a network's own draws in a followed training")
    looks: list[Float[np.ndarray, "3 k"]] = []
    step = 0
    for moment in moments:
        while step < moment:
            batch = noisy(protocol.batch_size, batches)
            draws(lambda batch=batch: _take_step(network, optimiser, batch, protocol), step)
            step += 1
        looks.append(_look(network, here, directions, family.name))
    rows = np.stack(looks)
    risk = rows[:, 2].copy()
    if last_points is not None:
        risk[-1] = _look(network, noisy(last_points, look), directions, family.name)[2]
    return Followed(np.array(moments), rows[:, 0], rows[0, 1], risk)


def _take_step(
    network: nn.Module, optimiser: torch.optim.Optimizer, batch: Noisy, protocol: Protocol
) -> None:
    optimiser.zero_grad(set_to_none=True)
    eps = torch.from_numpy(batch.eps).float().view(batch.x.shape)
    (network(batch.x, batch.t) - eps).square().mean().backward()
    nn.utils.clip_grad_norm_(network.parameters(), protocol.clip)
    optimiser.step()


def _look(
    network: nn.Module, noisy: Noisy, directions: DirectionSet, name: str
) -> Float[np.ndarray, "3 k"]:
    """Rows <f, eps*>, <eps*, eps*> and <f - eps*, f - eps*>, means over the samples."""
    network.eval()
    with torch.no_grad():
        parts = [
            network(noisy.x[start : start + TOGETHER], noisy.t[start : start + TOGETHER])
            for start in range(0, len(noisy.x), TOGETHER)
        ]
    network.train()
    predicted = torch.cat(parts).flatten(1).double().numpy()
    if not np.isfinite(predicted).all():
        raise NetworkError(f"{name} returns NaN or infinity after some steps of training")
    own, optimum = directions.coefficients(predicted), directions.coefficients(noisy.optimum)
    values = (own * optimum, optimum**2, (own - optimum) ** 2)
    return np.stack([directions.grouped(value).mean(axis=0) for value in values])
