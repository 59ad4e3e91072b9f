"""One calling convention for all modules: `forward(x, t)` predicts the noise in x at timestep t.

With x_t = sqrt(abar) x_0 + sqrt(1 - abar) eps, every prediction is an affine map of the noise,

    eps = c_t x_t + s_t output(x_t, t),

| prediction | output                            | c_t              | s_t                        |
|------------|-----------------------------------|------------------|----------------------------|
| `eps`      | eps                               | 0                | 1                          |
| `v`        | sqrt(abar) eps - sqrt(1-abar) x_0 | sqrt(1-abar)     | sqrt(abar)                 |
| `x0`       | x_0                               | 1 / sqrt(1-abar) | -sqrt(abar) / sqrt(1-abar) |

A module that takes `sigma` instead of a timestep (EDM) sees the variance-exploding process: the
input x_t / sqrt(abar) at sigma = sqrt((1 - abar) / abar); it returns x_0 unless told otherwise.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...errors import InputError, NetworkError, expected_one_of
from ...path import Schedule
from ..base import ScoreNetwork
from .convention import TEXT, Convention, convention_of

PREDICTIONS = ("eps", "v", "x0")


class Adapted(nn.Module):
    """A module under the convention of this package.

    Args:
        network: the module.
        convention: how it is called.
        prediction: what it predicts, one of `PREDICTIONS`.
        schedule: the noise schedule that converts its prediction.
    """

    def __init__(
        self, network: nn.Module, convention: Convention, prediction: str, schedule: Schedule
    ):
        super().__init__()
        self.network = network
        self.convention = convention
        self.prediction = prediction
        constant, scale = conversion(prediction, schedule)
        tables = {"constant": constant, "scale": scale}
        if convention.sigma:
            tables["sigma"] = np.sqrt((1 - schedule.abar) / schedule.abar)
            tables["input_scale"] = 1 / np.sqrt(schedule.abar)
        for name, table in tables.items():
            self.register_buffer(name, torch.from_numpy(table).float(), persistent=False)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Predicted noise (N, *shape) for x (N, *shape) at integer timesteps t (N,)."""
        output = first_channels(tensor_in(self.call(x, t)), x)
        if self.prediction == "eps" or not isinstance(output, Tensor) or output.shape != x.shape:
            return output  # what has another shape is reported by who asked
        return self._at("constant", t, x) * x + self._at("scale", t, x) * output

    def call(self, x: Tensor, t: Tensor) -> Any:
        """What the module itself returns for x (N, *shape) at integer timesteps t (N,)."""
        how, named = self.convention, self.conditions(x)
        if how.sigma:
            x, t = self._at("input_scale", t, x) * x, self.get_buffer("sigma")[t]
        if how.by_keyword:
            return self.network(x, **{str(how.time): t}, **named)
        return self.network(t, x, **named) if how.time_first else self.network(x, t, **named)

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
    network: object, name: str, schedule: Schedule, prediction: str | None = None
) -> nn.Module:
    """A module as a noise predictor; the networks of this package are noise predictors already.

    Raises:
        NetworkError: for something that is not a module.
        InputError: for an unknown prediction.
    """
    if prediction is not None and prediction not in PREDICTIONS:
        hint = expected_one_of(prediction, PREDICTIONS)
        raise InputError(f"unknown prediction {prediction!r}{hint}")
    if not isinstance(network, nn.Module):
        is_class = isinstance(network, type)
        got = f"the class {network.__name__}" if is_class else f"a {type(network).__name__}"
        raise NetworkError(f"the factory of {name} must return a torch module, got {got}")
    if isinstance(network, (ScoreNetwork, Adapted)) and prediction in (None, "eps"):
        return network
    convention = convention_of(network)
    default = "x0" if convention.sigma else "eps"
    return Adapted(network, convention, prediction or default, schedule)


def module_inside(network: nn.Module) -> nn.Module:
    """The module that a factory made, whose layers have the names that its author gave them."""
    return network.network if isinstance(network, Adapted) else network


def conversion(prediction: str, schedule: Schedule) -> tuple[np.ndarray, np.ndarray]:
    """c_t and s_t of the module docstring, each of shape (T,)."""
    abar = schedule.abar
    if prediction == "v":
        return np.sqrt(1 - abar), np.sqrt(abar)
    if prediction == "x0":
        return 1 / np.sqrt(1 - abar), -np.sqrt(abar / (1 - abar))
    return np.zeros_like(abar), np.ones_like(abar)


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
