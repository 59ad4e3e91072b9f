"""The last layers of a batch of traced networks, integrated.

Of every network the features h were read, and its output with a pattern of signs e in the place of
its last layer's output u. With eps = a + s D Q u this is a + s p, p = D Q e known, so that s is
measured in the very network whose features it multiplies, whatever it depends on: a number, the
timestep, the input, parameters. Given (s, h) the last layer still has mean zero, and

    E[s^2 z z^T] = E[s^2 E[z z^T | h]].

Where a is zero or a multiple c_t x of the input, a + s p also tells whether that is so in this
network. Where a is something else it is accumulated: then u = 0 is put in, and s is the table's.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..errors import NetworkError
from ..inspection.last_layer import LastLayer
from ..inspection.last_layer_moments import Variances
from ..inspection.readout import ReadOut
from ..inspection.tracing import LINEAR, TRANSPOSED, Call
from .ensemble import Readings
from .tail import Tail

RANDOM_LAYERS = 32
UNEXPLAINED = 1e-3  # of an output that neither the last layer nor the input explains


@dataclass(frozen=True)
class RandomLayers:
    """Draws last layers and applies them to features.

    Attributes:
        call: of the last layer of one network.
        layer: where it lands in the sample.
    """

    call: Call
    layer: LastLayer

    def outputs(
        self,
        h: Float[Tensor, "N ..."],
        weight: Float[np.ndarray, " N"],
        bias: Float[np.ndarray, " N"],
        rng: np.random.Generator,
    ) -> Float[Tensor, "N r D"]:
        """Outputs z = D Q u of `RANDOM_LAYERS` last layers of given variances for each network."""
        drawn = [self._of_one(*own, rng) for own in zip(h, weight, bias, strict=True)]
        return torch.stack(drawn)

    def _of_one(
        self, h: Tensor, weight: float, bias: float, rng: np.random.Generator
    ) -> Float[Tensor, "r D"]:
        """All last layers of one network as one layer with as many times the channels."""

        def draw(shape: tuple[int, ...], variance: float) -> Tensor:
            return torch.from_numpy(rng.standard_normal(shape) * np.sqrt(variance)).to(h)

        call, function = self.call, self.call.function
        groups = int(call.options.get("groups", 1))
        shape, axis = list(call.weight.shape), 1 if function in TRANSPOSED else 0
        shape[axis] *= RANDOM_LAYERS
        linear = function is LINEAR
        channels = call.u.shape[-1 if linear else 1]
        added = draw((RANDOM_LAYERS * channels,), bias) if bias else None
        u = function(h if linear else h[None], draw(tuple(shape), weight), added, **call.options)
        if linear:
            each = u.view(-1, RANDOM_LAYERS, channels).transpose(0, 1).flatten(1)
        else:  # every group has all of its layers side by side
            each = u.view(groups, RANDOM_LAYERS, -1).transpose(0, 1).flatten(1)
        selection, gains = self.layer.selection, self.layer.gains
        z = each if selection is None else each[:, selection.to(each.device)]
        return z if gains is None else z * gains.to(z)


@dataclass(frozen=True)
class Integration:
    """How the last layers of a family are integrated.

    Attributes:
        layer: the last layer.
        variances: of its weight and bias.
        tail: what follows it.
        readout: what is accumulated.
        random: draws last layers, for the read-out `random`.
    """

    layer: LastLayer
    variances: Variances
    tail: Tail
    readout: ReadOut
    random: RandomLayers | None

    @property
    def values(self) -> Tensor:
        """What is put in the place of u."""
        trial = self.layer.trial
        return torch.zeros_like(trial) if self.tail.constant else trial

    def moment(
        self,
        readings: Readings,
        x: Float[Tensor, "N ..."],
        t: Int[np.ndarray, " N"],
        root: Float[np.ndarray, " N"],
        rng: np.random.Generator,
    ) -> Float[Tensor, "n n"]:
        """The summed moment of a batch.

        Args:
            readings: of N networks.
            x: their inputs.
            t: their timesteps.
            root: square roots of the weights of their outer products.
            rng: for random last layers.
        """
        h, output, squares = readings
        if output is None or squares is None:
            raise TypeError("an integration needs networks that were traced")
        scaled = root * self._scales(output, x, t)
        own = squares.double().cpu().numpy()
        weight, bias = (
            own[:, i] if exact is None else np.full(len(t), exact)
            for i, exact in enumerate((self.variances.weight, self.variances.bias))
        )
        constant = _times(output, root) if self.tail.constant else None
        if self.random is not None:
            drawn = self.random.outputs(h, weight, bias, rng)
            return self.readout.moment(_times(drawn, scaled), constant)
        added = float(scaled**2 @ bias) if self.readout.settled else 0.0
        exact = self.variances.weight is not None  # then the read-out has it
        h = _times(h, scaled if exact else scaled * np.sqrt(weight))
        return self.readout.moment(h, constant, added)

    def _scales(
        self, output: Float[Tensor, "N ..."], x: Float[Tensor, "N ..."], t: Int[np.ndarray, " N"]
    ) -> Float[np.ndarray, " N"]:
        """The scale s of each network.

        Raises:
            NetworkError: where something else is in an output than was found before.
        """
        if self.tail.constant:
            return self.tail.scales[t]
        flat = output.double().flatten(1).cpu()
        if not bool(torch.isfinite(flat).all()):
            raise NetworkError(
                "it returned NaN or infinity: check its initial scale, or leave out timesteps "
                "where it fails"
            )
        pattern = self.layer.pattern.double()
        slopes = torch.from_numpy(self.tail.slopes[t])[:, None]
        rest = flat - slopes * x.double().flatten(1)
        scales = rest @ pattern / pattern.square().sum()
        rest = (rest - scales[:, None] * pattern).abs().amax(1)
        if bool((rest > UNEXPLAINED * flat.abs().amax(1)).any()):
            raise NetworkError(
                "something is added to the last layer's output only sometimes: use the naive "
                "estimator"
            )
        return scales.numpy()


def _times(values: Tensor, factors: Float[np.ndarray, " N"]) -> Tensor:
    """Each network's values times its factor."""
    own = torch.from_numpy(factors).to(values.device, values.dtype)
    return values * own.view(-1, *(1,) * (values.ndim - 1))
