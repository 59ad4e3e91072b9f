"""The integration over the last layers of a batch of traced networks.

The features h of every network were read, and its output with a pattern of signs e instead of the
output u of its last layer. With eps = a + s D Q u this output is a + s p, where p = D Q e is known.
So s is measured in the same network whose features it multiplies, whatever it depends on: a number,
the timestep, the input, parameters. Given (s, h) the last layer still has mean zero, and

    E[s^2 z z^T] = E[s^2 E[z z^T | h]].

If a is zero or a multiple c_t x of the input, a + s p also shows whether this is true in the
network. Any other a is accumulated: then u is replaced by 0, and s is taken from the table.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from .last_layer import LastLayer
from .last_layer_moments import Variances
from .reader_modules import Reader, Readings, Traced
from .reading import Batch, Reading, times
from .tracing import LINEAR, TRANSPOSED, Call, NoLastLayer

RANDOM_LAYERS = 32
UNEXPLAINED = 1e-3  # share of an output that neither the last layer nor the input explains


@dataclass(frozen=True)
class LayerDraws:
    """Draws last layers and applies them to features.

    Attributes:
        call: the call of the last layer in one network.
        layer: how it reaches the sample.
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
        """The outputs of all last layers of one network, computed as one layer."""

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
        else:  # each group holds all of its layers side by side
            each = u.view(groups, RANDOM_LAYERS, -1).transpose(0, 1).flatten(1)
        selection, gains = self.layer.selection, self.layer.gains
        z = each if selection is None else each[:, selection.to(each.device)]
        return z if gains is None else z * gains.to(z)


@dataclass(frozen=True, kw_only=True)
class Integration(Reading):
    """A reading that integrates the last layers of traced networks.

    Attributes:
        layer: the last layer.
        variances: the variances of its weight and bias.
        draws: draws last layers, if they are not integrated exactly.
        rows: the tokens that reach the sample, if others do not; None for all.
    """

    layer: LastLayer
    variances: Variances
    draws: LayerDraws | None = None
    rows: Tensor | None = None

    def reader(self, network: nn.Module) -> Reader:
        trial = self.layer.trial
        values = torch.zeros_like(trial) if self.tail.constant else trial
        return Traced(network, self.layer.index, values, self.layer.late_bias)

    @property
    def integrated(self) -> frozenset[str] | None:
        if self.layer.late and self.variances.bias is None:
            return None  # the bias of each network is set to zero after it is made
        weight = frozenset() if self.variances.weight is None else self.layer.weight
        return weight | (frozenset() if self.variances.bias is None else self.layer.bias)

    def used(self, readings: Readings) -> list[Tensor]:
        """Mean squares are used only if they replace a variance."""
        h, output, squares = _traced(readings)
        exact = (self.variances.weight, self.variances.bias)
        return [h, output, *(squares[:, i] for i, known in enumerate(exact) if known is None)]

    def moment(
        self, readings: Readings, at: Batch, rng: np.random.Generator
    ) -> Float[Tensor, "n c"]:
        h, output, squares = _traced(readings)
        scaled = at.root * self._scales(output, at)
        own = squares.double().cpu().numpy()
        weight, bias = (
            own[:, i] if exact is None else np.full(len(at.t), exact)
            for i, exact in enumerate((self.variances.weight, self.variances.bias))
        )
        constant = times(output, at.root) if self.tail.constant else None
        if self.draws is not None:
            drawn = self.draws.outputs(h, weight, bias, rng)
            return self.readout.moment(times(drawn, scaled), constant)
        added = float(scaled**2 @ bias) if self.readout.settled else 0.0
        if self.rows is not None:
            h = h[:, self.rows.to(h.device)]
        exact = self.variances.weight is not None  # then the read-out applies it
        h = times(h, scaled if exact else scaled * np.sqrt(weight))
        return self.readout.moment(h, constant, added)

    def _scales(self, output: Float[Tensor, "N ..."], at: Batch) -> Float[np.ndarray, " N"]:
        """The scale s of each network.

        Raises:
            NoLastLayer: if an output contains something that was not there before.
        """
        if self.tail.constant:
            return self.tail.scales[at.t]
        flat = output.double().flatten(1).cpu()
        pattern = self.layer.pattern.double()
        slopes = torch.from_numpy(self.tail.slopes[at.t])[:, None]
        rest = flat - slopes * at.x.double().flatten(1)
        scales = rest @ pattern / pattern.square().sum()
        rest = (rest - scales[:, None] * pattern).abs().amax(1)
        if bool((rest > UNEXPLAINED * flat.abs().amax(1)).any()):
            raise NoLastLayer("something is added to its last layer's output only sometimes")
        return scales.numpy()


def _traced(readings: Readings) -> tuple[Tensor, Tensor, Tensor]:
    h, output, squares = readings
    if output is None or squares is None:
        raise TypeError("an integration needs networks that were traced")
    return h, output, squares
