"""Initial distributions of parameters, described once and drawn in two ways.

A score network states the initial distribution of each of its parameters. The same description
initialises a single module and draws a stack of `n` initialisations at once, so that an ensemble
need not construct `n` modules.

PyTorch's default for linear and convolution layers is kaiming-uniform with a = sqrt(5), which is
U(-b, b) with b = 1/sqrt(fan_in), both for the weight and for the bias.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Uniform:
    """U(-bound, bound), of variance bound^2 / 3."""

    bound: float

    @property
    def variance(self) -> float:
        return self.bound**2 / 3

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Tensor:
        # Signed 32-bit integers scaled to (-bound, bound): twice as fast as `rng.random`.
        count = math.prod(shape)
        bits = rng.integers(0, 2**64, size=(count + 1) // 2, dtype=np.uint64)
        values = torch.from_numpy(bits).view(torch.int32)[:count].to(torch.float32)
        return values.mul_(self.bound / 2**31).view(shape)


@dataclass(frozen=True)
class Normal:
    """N(0, std^2)."""

    std: float

    @property
    def variance(self) -> float:
        return self.std**2

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Tensor:
        return torch.from_numpy(rng.standard_normal(shape, dtype=np.float32)).mul_(self.std)


@dataclass(frozen=True)
class Constant:
    """Every entry equal to `value`."""

    value: float

    @property
    def variance(self) -> float:
        return 0.0

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Tensor:
        return torch.full(shape, self.value)


Distribution = Uniform | Normal | Constant


def fans(weight: Tensor) -> tuple[int, int]:
    """Fan-in and fan-out of a linear or convolution weight (out, in, *kernel)."""
    field = math.prod(weight.shape[2:])
    return weight.shape[1] * field, weight.shape[0] * field


def xavier_uniform(weight: Tensor) -> Uniform:
    """The uniform distribution of variance 2 / (fan_in + fan_out)."""
    return Uniform(math.sqrt(6 / sum(fans(weight))))


class DeclaredLayer(nn.Module):
    """A layer with parameters of its own that states their initial distributions."""

    initial: Mapping[str, Distribution]


def default_distributions(module: nn.Module) -> dict[str, Distribution]:
    """PyTorch's default initial distribution of every parameter, by name.

    Raises:
        TypeError: for a parameter of a layer whose default is not known here.
    """
    return {
        f"{prefix}.{name}" if prefix else name: _layer_default(layer, name)
        for prefix, layer in module.named_modules()
        for name, _ in layer.named_parameters(recurse=False)
    }


def _layer_default(layer: nn.Module, name: str) -> Distribution:
    if isinstance(layer, (nn.Linear, nn.Conv1d, nn.Conv2d)):
        return Uniform(1 / math.sqrt(fans(layer.weight)[0]))
    if isinstance(layer, DeclaredLayer):
        return layer.initial[name]
    if isinstance(layer, (nn.GroupNorm, nn.LayerNorm)):
        return Constant(1.0 if name == "weight" else 0.0)
    raise TypeError(f"no default initial distribution is known for {type(layer).__name__}.{name}")


@torch.no_grad()
def initialise(
    module: nn.Module, distributions: dict[str, Distribution], rng: np.random.Generator
) -> None:
    """Fill the parameters of one module in place."""
    for name, parameter in module.named_parameters():
        parameter.copy_(distributions[name].draw(tuple(parameter.shape), rng))
