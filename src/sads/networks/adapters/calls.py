"""One calling convention for all modules: `forward(x, t)` predicts the noise in x at level t.

With x = a x_0 + b eps, every prediction is an affine map of the noise (`sads.path.predictions`),

    eps = c_t x + s_t output(x, time_t),

and the module is given the time that it expects (`sads.path.times`): the number of the level, a
number in [0, 1] or [0, 1000], or the noise level itself. A module that takes `sigma` (EDM) sees the
variance-exploding process, the input x / a at sigma = b / a; it returns x_0 unless told otherwise.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...errors import NetworkError
from ...path import PREDICTIONS as KNOWN
from ...path import DiffusionPath, Prediction, prediction_named, time_values
from ..base import ScoreNetwork
from .convention import TEXT, Convention, convention_of

PREDICTIONS: tuple[str, ...] = tuple(KNOWN)
SIGMA = "sigma"  # the time that makes an input one of the variance-exploding process


class Adapted(nn.Module):
    """A module under the convention of this package.

    Args:
        network: the module.
        convention: how it is called.
        prediction: what it predicts, one of `PREDICTIONS`.
        path: from data to noise; it converts predictions and times.
        time: the time that it is given, one of `sads.path.TIMES`.
        reverse: whether time runs from noise to data.
        converted: whether to return noise; otherwise what the module itself predicts.
    """

    def __init__(
        self,
        network: nn.Module,
        convention: Convention,
        prediction: str,
        path: DiffusionPath,
        *,
        time: str = "index",
        reverse: bool = False,
        converted: bool = True,
    ):
        super().__init__()
        self.network = network
        self.convention = convention
        self.prediction = prediction
        self.path = path
        self.time = time
        self.reverse = reverse
        self.converted = converted
        tables: dict[str, np.ndarray] = {}
        if converted:
            constant, scale = conversion(prediction, path, reverse=reverse)
            tables = {"constant": constant, "scale": scale}
        if time != "index" or reverse:
            tables["times"] = time_values(time, path, reverse=reverse)
        if time == SIGMA:
            tables["input_scale"] = 1 / path.signal
        for name, table in tables.items():
            values = torch.from_numpy(table)
            values = values.float() if values.is_floating_point() else values
            self.register_buffer(name, values, persistent=False)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Predicted noise (N, *shape) for x (N, *shape) at levels t (N,)."""
        output = first_channels(tensor_in(self.call(x, t)), x)
        if self.prediction == "eps" or not isinstance(output, Tensor) or output.shape != x.shape:
            return output  # what has another shape is reported by who asked
        if not self.converted:
            return output
        return self._at("constant", t, x) * x + self._at("scale", t, x) * output

    def call(self, x: Tensor, t: Tensor) -> Any:
        """What the module itself returns for x (N, *shape) at levels t (N,)."""
        how, named = self.convention, self.conditions(x)
        if self.time == SIGMA:
            x = self._at("input_scale", t, x) * x
        t = self.times_at(t)
        if how.by_keyword:
            return self.network(x, **{str(how.time): t}, **named)
        return self.network(t, x, **named) if how.time_first else self.network(x, t, **named)

    def times_at(self, t: Tensor) -> Tensor:
        """The times that the module is given at levels t (N,)."""
        return t if self.time == "index" and not self.reverse else self.get_buffer("times")[t]

    def conditions(self, x: Tensor) -> dict[str, Tensor]:
        """What is passed beside input and time, by name."""
        named = {}
        if (label := self.convention.label) is not None:
            named[label.name] = torch.full(
                (len(x),), label.value, dtype=torch.long, device=x.device
            )
        if self.convention.text_width is not None:
            # Attention over equal tokens does not see how many there are: one is enough.
            named[TEXT] = x.new_zeros(len(x), 1, self.convention.text_width)
        return named

    def _at(self, table: str, t: Tensor, x: Tensor) -> Tensor:
        return self.get_buffer(table)[t].view(-1, *(1,) * (x.ndim - 1))


def adapt(
    network: object,
    name: str,
    path: DiffusionPath,
    prediction: str | None = None,
    *,
    time: str | None = None,
    reverse: bool = False,
) -> nn.Module:
    """A module as a noise predictor; the networks of this package are noise predictors already.

    Args:
        network: the module.
        name: of its family.
        path: from data to noise.
        prediction: what it predicts; noise unless given, or x0 for one that takes `sigma`.
        time: what it is given; the usual one of the path unless given, for networks of this
            package the number of the level.
        reverse: whether time runs from noise to data.

    Raises:
        NetworkError: for something that is not a module.
        InputError: for an unknown prediction or time, or one that makes no sense on the path.
    """
    if prediction is not None:
        prediction_named(prediction)  # which refuses unknown ones
    if not isinstance(network, nn.Module):
        is_class = isinstance(network, type)
        got = f"the class {network.__name__}" if is_class else f"a {type(network).__name__}"
        raise NetworkError(f"the factory of {name} must return a torch module, got {got}")
    plain = prediction in (None, "eps") and time in (None, "index") and not reverse
    if isinstance(network, (ScoreNetwork, Adapted)) and plain:
        return network
    convention = convention_of(network)
    usual = "index" if isinstance(network, ScoreNetwork) else path.usual_time
    usual = SIGMA if convention.sigma else usual
    default = "x0" if convention.sigma else "eps"
    return Adapted(
        network, convention, prediction or default, path, time=time or usual, reverse=reverse
    )


def own_output(network: nn.Module) -> nn.Module:
    """The same network, sharing all parameters, that returns what it itself predicts."""
    if not isinstance(network, Adapted) or network.prediction == "eps":
        return network
    return Adapted(
        network.network,
        network.convention,
        network.prediction,
        network.path,
        time=network.time,
        reverse=network.reverse,
        converted=False,
    )


def own_prediction(network: nn.Module) -> Prediction:
    """What a network itself predicts."""
    if not isinstance(network, Adapted):
        return prediction_named("eps")
    return prediction_named(network.prediction, reverse=network.reverse)


def module_inside(network: nn.Module) -> nn.Module:
    """The module that a factory made, whose layers have the names that its author gave them."""
    return network.network if isinstance(network, Adapted) else network


def conversion(
    prediction: str, path: DiffusionPath, *, reverse: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """c_t and s_t of the module docstring, each of shape (T,)."""
    return prediction_named(prediction, reverse=reverse).conversion(path)


def tensor_in(output: Any) -> Any:
    """The tensor in an output object: `.sample`, the key `sample`, or the first of a tuple."""
    if isinstance(output, Tensor):
        return output
    if isinstance(output, Mapping) and "sample" in output:
        return output["sample"]
    if (sample := getattr(output, "sample", None)) is not None:
        return sample
    if isinstance(output, (tuple, list)) and output:
        return tensor_in(output[0])
    return output


def first_channels(output: Any, x: Tensor) -> Any:
    """Without the second half of the channels, where a module also predicts variances."""
    if not isinstance(output, Tensor) or output.ndim != x.ndim or output.shape[0] != x.shape[0]:
        return output
    twice = output.shape[1] == 2 * x.shape[1] and output.shape[2:] == x.shape[2:]
    return output[:, : x.shape[1]] if twice else output
