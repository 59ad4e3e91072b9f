"""The tangent kernel, read by products of the Jacobian with random directions.

With J the derivative of eps by the parameters that training moves, and w ~ N(0, I) in their space,

    E[(J w)(J w)^T] = J J^T,      so that      K = E_t[w_t E[J J^T]]

is estimated like a geometry, by outer products of J w instead of eps. Several w are drawn for each
network, because they share its forward pass. In wide networks J J^T hardly differs from one network
to the next, so that most of the noise comes from w.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import vmap

from ..errors import NetworkError
from ..networks.initialisation import Distribution, Normal
from ..probes import Probe
from .after_last_layer import parametric_tail
from .jacobian_products import WAYS, Way, choose_way, moving_parameters, product
from .members import Members
from .reader_modules import Reader
from .reading import Reading
from .readout import JacobianProducts

PRODUCTS = 8  # directions w for each network
WHY = "the tangent kernel counts the parameters of all layers"


class Tangents(Reader):
    """Reads J w for several w, which are parameters of the reader.

    Args:
        network: the network.
        moving: names of the parameters that training moves.
        way: how products are computed.
    """

    differentiates = True

    def __init__(self, network: nn.Module, moving: tuple[str, ...], way: Way):
        super().__init__(network)
        self.moving = moving
        self.way: Way = way
        self.draws: Mapping[str, Distribution] = {
            f"along.{i}": Normal(1.0) for i in range(len(moving))
        }
        shapes = [_real(network.get_parameter(name).detach()) for name in moving]
        self.along: nn.ParameterList = nn.ParameterList(
            nn.Parameter(torch.zeros(PRODUCTS, *p.shape).to(p), requires_grad=False) for p in shapes
        )

    def forward(self, x: Tensor, t: Tensor) -> tuple[Tensor]:
        parameters = {name: attrgetter(name)(self.network) for name in self.moving}
        parameters = {name: value.detach() for name, value in parameters.items()}

        def one(*along: Tensor) -> Tensor:
            own = zip(parameters.items(), along, strict=True)
            directions = {name: _like(value, w) for (name, value), w in own}
            return product(self.network, parameters, directions, x, t, self.way)[0]

        if self.way == "forward":
            return (vmap(one)(*self.along)[None],)
        each = [one(*(w[i] for w in self.along)) for i in range(PRODUCTS)]
        return (torch.stack(each)[None],)


def _real(value: Tensor) -> Tensor:
    return torch.view_as_real(value) if value.is_complex() else value


def _like(value: Tensor, direction: Tensor) -> Tensor:
    return torch.view_as_complex(direction) if value.is_complex() else direction


@dataclass(frozen=True, kw_only=True)
class TangentReading(Reading):
    """A reading of products J w.

    Attributes:
        moving: names of the parameters that training moves.
        way: how products are computed.
    """

    moving: tuple[str, ...]
    way: Way

    def reader(self, network: nn.Module) -> Reader:
        return Tangents(network, self.moving, self.way)

    @property
    def integrated(self) -> frozenset[str] | None:
        return frozenset() if self.way == WAYS[0] else None  # other ways do not run in stacks


def read_tangents(
    members: Members, probe: Probe, weights: Float[np.ndarray, " T"], rng: np.random.Generator
) -> TangentReading:
    """Decide how the tangent kernel of a family is read.

    Args:
        members: a few of its networks.
        probe: the probe that draws their inputs.
        weights: probability times weight of each timestep.
        rng: draws the network and the input of a trial.

    Raises:
        NetworkError: if nothing can be trained, or derivatives fail or are all zero.
    """
    family = members.family
    network = family.member(int(rng.integers(2**62))).eval()
    moving = tuple(moving_parameters(network))
    t = rng.choice(np.flatnonzero(weights), size=1)
    x = probe.draw(t, family.shape, family.schedule, rng)
    way = choose_way(network, x, torch.from_numpy(t))
    reader = Tangents(network, moving, way)
    reader.renew(rng)
    if not bool(reader(x, torch.from_numpy(t))[0].any()):
        raise NetworkError(
            f"no parameter moves the output of {family.name} at the probe {probe.describe()}, so "
            "its tangent kernel there is zero: choose another probe, for example gaussian:1"
        )
    note = WHY if way == WAYS[0] else f"{WHY}, by {way}"
    tail = parametric_tail(members.networks[0], family, weights)
    readout = JacobianProducts(family.shape, PRODUCTS)
    return TangentReading(readout, tail, note, moving=moving, way=way)
