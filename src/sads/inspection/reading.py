"""How the networks of a family are read, and how their readings are summed.

Every reading has a *reader* (`reader_modules`), a *read-out* that sums what was read over networks
(`readout`), and a *tail* that describes what follows the part that was read (`after_last_layer`).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..networks import ScoreNetwork
from .after_last_layer import Tail, plain_tail
from .reader_modules import Features, Outputs, Reader, Readings
from .readout import Sampled, readout_of
from .subspace_readout import AnyReadOut


class Batch(NamedTuple):
    """The inputs at which N networks are read.

    Attributes:
        x: their inputs.
        t: their timesteps.
        root: square roots of the weights of their outer products.
    """

    x: Float[Tensor, "N ..."]
    t: Int[np.ndarray, " N"]
    root: Float[np.ndarray, " N"]


@dataclass(frozen=True)
class Reading:
    """A reading of plain outputs, and the base of the other readings.

    Attributes:
        readout: what is accumulated.
        tail: what follows the part that is read.
        note: why the last layer is not integrated exactly; empty if it is.
    """

    readout: AnyReadOut
    tail: Tail
    note: str = ""

    def reader(self, network: nn.Module) -> Reader:
        """The network as it is read."""
        return Outputs(network)

    @property
    def integrated(self) -> frozenset[str] | None:
        """Parameters that need not be drawn; None if every network must be built."""
        return frozenset()

    def used(self, readings: Readings) -> list[Tensor]:
        """The parts of the readings on which the moment depends."""
        return [readings.h]

    def moment(
        self, readings: Readings, at: Batch, rng: np.random.Generator
    ) -> Float[Tensor, "n c"]:
        """The summed moment of a batch; `rng` is for draws besides the networks."""
        return self.readout.moment(times(readings.h, at.root))


@dataclass(frozen=True)
class DeclaredReading(Reading):
    """A reading of the features of our networks, which declare their last layer.

    Attributes:
        head: names of the parameters of the last layer.
    """

    head: frozenset[str] = frozenset()

    @classmethod
    def of(cls, member: ScoreNetwork, total: float, steps: int) -> Reading:
        """The reading of a network that starts as it declares; `total` is E_t[w_t].

        Our networks predict noise, so their tail is the identity.
        """
        readout, tail = readout_of(member), plain_tail(np.ones(steps), total)
        if isinstance(readout, Sampled):
            return Reading(readout, tail)
        head = frozenset(n for n in member.distributions() if n.startswith("head."))
        return cls(readout, tail, head=head)

    def reader(self, network: nn.Module) -> Reader:
        return Features(network)

    @property
    def integrated(self) -> frozenset[str]:
        return self.head


def times(values: Tensor, factors: Float[np.ndarray, " N"]) -> Tensor:
    """Each network's values times its factor."""
    own = torch.from_numpy(factors).to(values.device, values.dtype)
    return values * own.view(-1, *(1,) * (values.ndim - 1))
