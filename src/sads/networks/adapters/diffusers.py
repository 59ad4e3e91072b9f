"""Networks of the diffusers library from a configuration file alone, without weights, offline."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from ...errors import InputError, brief, expected_one_of
from ...path import Schedule
from ...storage.files import regular_file
from ..family import ScoreFamily

CLASSES = ("UNet2DModel", "UNet2DConditionModel", "DiTTransformer2DModel", "Transformer2DModel")

LARGEST_SIZE = 65_536  # of a side, or of channels


def diffusers_family(
    path: Path,
    *,
    shape: tuple[int, ...] | None = None,
    schedule: Schedule | None = None,
    prediction: str | None = None,
    name: str | None = None,
) -> ScoreFamily:
    """The family of a configuration file; its class is the one named by `_class_name`.

    Raises:
        InputError: for a file, class or configuration that cannot be used, or a missing extra.
    """
    config = _read(path)
    kind = config.get("_class_name")
    if kind not in CLASSES:
        raise InputError(f"{path} has _class_name {kind!r}{expected_one_of(kind, CLASSES)}")
    factory = partial(_build, _classes()[kind], config, path)
    shape = shape or _shape(config, path)
    label = name or f"diffusers:{path}"
    return ScoreFamily(factory, shape, schedule or Schedule(), label, prediction=prediction)


def _read(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(regular_file(path).read_text())
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a JSON configuration ({brief(error)})") from error
    if not isinstance(config, dict):
        raise InputError(f"{path} is not a configuration: expected a JSON object")
    return config


def _classes() -> dict[str, Any]:
    try:
        import diffusers
    except ImportError as error:
        raise InputError("diffusers is not installed: pip install 'sads[diffusers]'") from error
    return {name: getattr(diffusers, name) for name in CLASSES}


def _build(kind: Any, config: dict[str, Any], path: Path) -> nn.Module:
    try:
        return kind.from_config(config)
    except Exception as error:
        raise InputError(f"{path} cannot be built as {kind.__name__}: {brief(error)}") from error


def _shape(config: dict[str, Any], path: Path) -> tuple[int, ...]:
    """(C, H, W) from the configuration."""
    size, channels = config.get("sample_size"), config.get("in_channels")
    if size is None or channels is None:
        raise InputError(
            f"{path} does not say its shape (in_channels, sample_size): give a shape CxHxW"
        )
    sides = size if isinstance(size, (tuple, list)) else (size, size)
    sizes = (channels, *sides)
    if not all(isinstance(n, int) and 1 <= n <= LARGEST_SIZE for n in sizes):
        raise InputError(
            f"{path} has in_channels {channels} and sample_size {size}: expected whole numbers "
            f"from 1 to {LARGEST_SIZE:,}"
        )
    return sizes
