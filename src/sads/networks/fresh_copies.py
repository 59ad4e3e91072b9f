"""Fresh networks like one that is already built.

The class of a module may say how to make another one. These ways are tried in order:

1. a configuration (`config` with `from_config`, as in diffusers);
2. the arguments of its constructor, if the module keeps all of them under their own names or in
   `hparams`, and a module made from them has the same parameters;
3. a method `reset_parameters` of its own class.

Otherwise every parameter of a copy is drawn again from the measured distribution of its values:
constant, uniform or normal, with their mean and standard deviation. For an untrained network that
is its initial distribution, unless entries were set one by one; for a trained network it is the
distribution after training.
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
FEW = 8  # with fewer entries a distribution counts as normal

Factory = Callable[[], nn.Module]


@dataclass(frozen=True)
class Fresh:
    """How to make networks like one that is already built.

    Attributes:
        factory: makes a network.
        origin: how this is known: by `configuration`, `arguments` or `reset`, or `measured`.
    """

    factory: Factory
    origin: str


def unwrapped(module: nn.Module) -> nn.Module:
    """The module that `torch.compile` has wrapped, or the module itself."""
    while isinstance(inner := getattr(module, "_orig_mod", None), nn.Module):
        module = inner
    return module


def fresh_networks(module: nn.Module) -> Fresh:
    """How to make networks like this one.

    >>> fresh_networks(nn.Linear(3, 2)).origin
    'arguments'
    """
    module = unwrapped(module)
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
    """A call of the constructor with arguments that the module keeps; None if one is missing."""
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
        if isinstance(value, Tensor):  # the argument `bias` of a linear layer is true or false
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
    """The measured distribution of the values of a parameter.

    Attributes:
        mean: the mean of the values; zero if it is within its error.
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
