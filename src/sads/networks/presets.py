"""Named networks with the hyperparameters of the paper's table 1, and small ones for comparison.

The channel multipliers of table 1 get one extra leading 1: "1, 1" there is (1, 1, 1) here.
"""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from ..devices import require_memory
from ..errors import InputError, NetworkError, brief, expected_one_of
from ..path import DiffusionPath
from .base import ScoreNetwork
from .cnn import CNN
from .dit import DiT
from .family import DEFAULT_PATH, ScoreFamily, Training
from .linear import Linear
from .mlp import MLP
from .ssm import SSM
from .unet import UNet
from .vit import ViT


@dataclass(frozen=True)
class Preset:
    """A network class with its default shape, fields and training."""

    network: type[ScoreNetwork]
    shape: tuple[int, ...]
    fields: Mapping[str, Any]
    training: Training


def _preset(network: type[ScoreNetwork], shape: tuple[int, ...], training: Training, **fields: Any):
    return Preset(network, shape, MappingProxyType(fields), training)


_RANK_ONE = Training()
_LEVELS_3, _LEVELS_4 = (1, 1, 1), (1, 1, 1, 1)

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "iddpm-16": _preset(UNet, (1, 16, 16), _RANK_ONE, mults=_LEVELS_3, depth=1),
        "iddpm-mnist": _preset(
            UNet, (1, 28, 28), Training(500, 100_000, 1e-3), mults=_LEVELS_3, depth=2
        ),
        "iddpm-celeba": _preset(
            UNet, (1, 56, 56), Training(500, 100_000, 1e-3), mults=_LEVELS_4, depth=2
        ),
        "iddpm-cifar10": _preset(
            UNet, (3, 32, 32), Training(500, 200_000, 1e-3), mults=_LEVELS_4, depth=2
        ),
        "iddpm-1d": _preset(UNet, (1, 64), _RANK_ONE, mults=_LEVELS_3, depth=1),
        "dit-2": _preset(DiT, (1, 16, 16), _RANK_ONE, patch=2),
        "dit-4": _preset(DiT, (1, 16, 16), Training(1000, 4_000, 1e-4), patch=4),
        "mlp": _preset(MLP, (1, 16, 16), _RANK_ONE),
        "cnn": _preset(CNN, (1, 16, 16), _RANK_ONE),
        "vit": _preset(ViT, (1, 16, 16), _RANK_ONE, patch=2),
        "ssm": _preset(SSM, (1, 64), _RANK_ONE),
        "linear": _preset(Linear, (5,), _RANK_ONE),
    }
)


def preset_family(
    name: str,
    *,
    shape: tuple[int, ...] | None = None,
    schedule: DiffusionPath | None = None,
    **fields: Any,
) -> ScoreFamily:
    """The family of a preset, with some of its fields or its shape replaced.

    >>> preset_family("iddpm-16", resampling="area").shape
    (1, 16, 16)

    Raises:
        InputError: for an unknown preset or field, or a value the network cannot take.
    """
    if name not in PRESETS:
        raise InputError(f"unknown network {name!r}{expected_one_of(name, PRESETS)}")
    preset = PRESETS[name]
    parameters = inspect.signature(preset.network).parameters
    defaults = {n: p.default for n, p in parameters.items() if n != "shape"}
    for field in fields:
        if field not in defaults:
            raise InputError(f"{name} has no field {field!r}{expected_one_of(field, defaults)}")
    shape = preset.shape if shape is None else shape
    chosen = {**preset.fields, **fields}
    spelled = _spell(name, fields)
    needed = _built_bytes(preset.network, shape, defaults | chosen)
    sizes = "x".join(map(str, shape))
    require_memory(needed, f"{spelled} on {sizes}", "choose a smaller shape")
    factory = partial(preset.network, shape, **chosen)
    family = ScoreFamily(factory, shape, schedule or DEFAULT_PATH, spelled, preset.training)
    try:
        family.member(0)  # refuses a shape or field that the network cannot take
    except (NetworkError, RuntimeError, MemoryError) as error:
        raise InputError(f"{spelled} cannot be built: {brief(error.__cause__ or error)}") from error
    return family


def _built_bytes(
    network: type[ScoreNetwork], shape: tuple[int, ...], fields: Mapping[str, Any]
) -> int:
    """A lower bound on the bytes that building a network takes, as far as they depend on shape."""
    size = math.prod(shape)
    match network.readout:
        case "dense":  # weights between every entry and the hidden layers
            return 8 * size * fields["width"]
        case "tokens":  # features of positions, in float64 while they are computed
            positions = math.prod(side // max(1, fields["patch"]) for side in shape[1:])
            return 8 * positions * fields["width"]
        case "sampled":  # a linear network is a matrix
            return 8 * size**2
    return 4 * size


def _spell(name: str, fields: Mapping[str, Any]) -> str:
    """The name in the grammar."""

    def text(value: Any) -> str:
        if isinstance(value, (tuple, list)):
            return "x".join(map(str, value))
        return str(value).lower() if isinstance(value, bool) else str(value)

    return ",".join([name, *(f"{k}={text(v)}" for k, v in fields.items())])
