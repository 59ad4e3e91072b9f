"""Fresh networks like one that is built already.

The class of a module is asked first, in this order:

1. a configuration (`config` with `from_config`, as in diffusers);
2. the arguments of its constructor, where the module keeps every one of them under its own name or
   in `hparams`, and a module made from them has the same parameters;
3. a method `reset_parameters` of its own class.

Where the class does not tell, every parameter of a copy is redrawn from the distribution that its
values show: constant, uniform or normal, with their mean and standard deviation. That is what an
untrained network starts from, but for entries that were set one by one; of a trained network it is
the distribution that training has left.
"""

import copy
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import NetworkError, brief
from .isolation import seeded

FLAT = 2.4  # kurtosis between that of a uniform distribution, 1.8, and of a normal one, 3
CENTRED = 4.0  # standard errors below which a mean counts as zero
FEW = 8  # entries below which no shape of a distribution is told

Factory = Callable[[], nn.Module]


@dataclass(frozen=True)
class Fresh:
    """How to make networks like one that is built already.

    Attributes:
        factory: makes one.
        origin: where that is known from: `configuration`, `arguments`, `reset` or `measured`.
    """

    factory: Factory
    origin: str


def fresh_networks(module: nn.Module) -> Fresh:
    """How to make networks like this one.

    >>> fresh_networks(nn.Linear(3, 2)).origin
    'arguments'
    """
    candidates = (
        ("configuration", _by_configuration(module)),
        ("arguments", _by_arguments(module)),
        ("reset", _by_reset(module)),
    )
    for origin, factory in candidates:
        if factory is not None and _alike(factory, module):
            return Fresh(factory, origin)
    template = _copied(module)
    draws = {name: _measured(p.detach()) for name, p in template.named_parameters()}
    return Fresh(partial(_redrawn, template, draws), "measured")


def _by_configuration(module: nn.Module) -> Factory | None:
    kind, config = type(module), getattr(module, "config", None)
    if config is None or not callable(getattr(kind, "from_config", None)):
        return None
    return lambda: kind.from_config(config)  # pyright: ignore[reportAttributeAccessIssue]


def _by_arguments(module: nn.Module) -> Factory | None:
    """A call of the constructor with the arguments that the module keeps, if it keeps them all."""
    kind = type(module)
    try:
        parameters = list(inspect.signature(kind).parameters.values())
    except (TypeError, ValueError):
        return None
    kept: Mapping[str, Any] = getattr(module, "hparams", None) or {}
    values: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return None
        value = kept.get(parameter.name, getattr(module, parameter.name, inspect.Parameter.empty))
        if isinstance(value, Tensor):  # `bias` of a linear layer is whether it has one
            value = True
        if parameter.name in ("device", "dtype"):
            continue
        if value is inspect.Parameter.empty or isinstance(value, nn.Module) or callable(value):
            return None
        values[parameter.name] = value
    return lambda: kind(**values)


def _by_reset(module: nn.Module) -> Factory | None:
    if "reset_parameters" not in vars(type(module)):
        return None
    template = _copied(module)

    def factory() -> nn.Module:
        made = copy.deepcopy(template)
        made.reset_parameters()  # pyright: ignore[reportCallIssue]
        return made

    return factory


def _alike(factory: Factory, module: nn.Module) -> bool:
    """Whether a factory works and makes modules with the same parameters and buffers."""
    try:
        made = seeded(factory, 0, "a network like one that is built")
    except Exception:
        return False
    return _layout(made) == _layout(module)


def _layout(module: nn.Module) -> dict[str, tuple[int, ...]]:
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return {name: tuple(tensor.shape) for name, tensor in tensors}


def _copied(module: nn.Module) -> nn.Module:
    try:
        return copy.deepcopy(module).cpu()
    except Exception as error:
        raise NetworkError(
            f"{type(module).__name__} cannot be copied ({brief(error)}): give a function that "
            "makes fresh networks instead"
        ) from error


@dataclass(frozen=True)
class Measured:
    """The distribution that the values of a parameter show.

    Attributes:
        mean: of the values; zero where it is within their error.
        std: their standard deviation; zero for constants.
        flat: whether they are uniform rather than normal.
    """

    mean: float
    std: float
    flat: bool

    def fill(self, parameter: Tensor) -> None:
        """Draw new values in place, from the global generator, as factories do."""
        if self.std == 0:
            parameter.fill_(self.mean)
            return
        if self.flat:
            bound = self.std * math.sqrt(3)
            parameter.uniform_(-bound, bound)
        else:
            parameter.normal_(0.0, self.std)
        if self.mean:
            parameter.add_(self.mean)


def _measured(values: Tensor) -> Measured:
    flat = values.double().flatten()
    if not flat.numel():
        return Measured(0.0, 0.0, flat=False)
    mean = float(flat.mean())
    std = float((flat - mean).square().mean().sqrt())
    if std <= 1e-7 * abs(mean):
        return Measured(float(flat[0]), 0.0, flat=False)
    if abs(mean) < CENTRED * std / math.sqrt(flat.numel()):
        mean, std = 0.0, float(flat.square().mean().sqrt())
    kurtosis = float((flat - mean).pow(4).mean()) / std**4
    return Measured(mean, std, flat=kurtosis < FLAT and flat.numel() >= FEW)


@torch.no_grad()
def _redrawn(template: nn.Module, draws: dict[str, Measured]) -> nn.Module:
    made = copy.deepcopy(template)
    for name, parameter in made.named_parameters():
        draws[name].fill(parameter)
    return made
