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

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...errors import InputError, NetworkError, expected_one_of
from ...path import Schedule
from ..base import ScoreNetwork
from ..casting import cast
from .arrangements import FramesFirst, Packed
from .calling import Calling
from .conditions import passed
from .convention import Convention, convention_of
from .outputs import Found, prediction_in

PREDICTIONS = ("eps", "v", "x0")


class Adapted(nn.Module):
    """A module under the convention of this package.

    Args:
        network: the module.
        convention: how it is called.
        prediction: what it predicts, one of `PREDICTIONS`.
        schedule: the noise schedule that converts its prediction.
        calling: what its user states about the call.
    """

    def __init__(
        self,
        network: nn.Module,
        convention: Convention,
        prediction: str,
        schedule: Schedule,
        calling: Calling | None = None,
    ):
        super().__init__()
        self.network = network
        self.convention = convention
        self.calling: Calling = calling or Calling()
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
        output = self.prediction_of(self.call(x, t), x).value
        if self.prediction == "eps" or not isinstance(output, Tensor) or output.shape != x.shape:
            return output  # what has another shape is reported by who asked
        return self._at("constant", t, x) * x + self._at("scale", t, x) * output

    def call(self, x: Tensor, t: Tensor) -> Any:
        """What the module itself returns for x (N, *shape) at integer timesteps t (N,)."""
        how, (x, t) = self.convention, self.seen(x, t)
        named = passed(how.conditions, x) | self.calling.given(x, t)
        given = named.pop(how.input, how.arrangement.lay_out(x)) if how.input else x
        time = named.pop(how.time, t) if how.time else t
        if how.by_keyword:
            return self.network(given, **{str(how.time): time}, **named)
        order = (time, given) if how.time_first else (given, time)
        return self.network(*order, **named)

    def seen(self, x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        """Input and time in the units of the module."""
        if not self.convention.sigma:
            return x, t if self.convention.whole else t.to(x.dtype)
        return self._at("input_scale", t, x) * x, self.get_buffer("sigma")[t]

    def prediction_of(self, output: Any, x: Tensor) -> Found:
        """The prediction in what the module returned, with its place in words."""
        if (own := self.calling.unpatchify) is not None:
            source = self.calling.source
            return Found(own(output, x), f"`unpatchify`{f' in {source}' if source else ''}")
        arrangement = self.convention.arrangement
        if not isinstance(arrangement, (Packed, FramesFirst)):
            return prediction_in(output, x)
        found = prediction_in(output, arrangement.lay_out(x))
        return Found(arrangement.lay_back(found.value, x), found.where)

    def _at(self, table: str, t: Tensor, x: Tensor) -> Tensor:
        return self.get_buffer(table)[t].view(-1, *(1,) * (x.ndim - 1))


def adapt(
    network: object,
    name: str,
    schedule: Schedule,
    prediction: str | None = None,
    calling: Calling | None = None,
) -> nn.Module:
    """A module as a noise predictor; the networks of this package are noise predictors already.

    Compiled modules are taken as they were before, those of half precision in float32.

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
    network = in_single_precision(plain(network))
    convention = convention_of(network)
    default = "x0" if convention.sigma else "eps"
    return Adapted(network, convention, prediction or default, schedule, calling)


def plain(network: nn.Module) -> nn.Module:
    """A module without what `torch.compile` made of it."""
    while isinstance(inner := getattr(network, "_orig_mod", None), nn.Module):
        network = inner
    for module in network.modules():
        if getattr(module, "_compiled_call_impl", None) is not None:  # compiled in place
            module._compiled_call_impl = None
    return network


def in_single_precision(network: nn.Module) -> nn.Module:
    """A module in float32 if some of it is in half precision; others as they are."""
    values = (*network.parameters(), *network.buffers())
    half = any(value.dtype in (torch.float16, torch.bfloat16) for value in values)
    return cast(network, torch.float32) if half else network


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
