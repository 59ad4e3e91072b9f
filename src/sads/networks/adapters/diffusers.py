"""Networks of the diffusers library, built offline from a configuration file without weights."""

import inspect
import json
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from torch import nn

from ...errors import InputError, brief, expected_one_of
from ...path import DiffusionPath
from ...storage.files import regular_file
from ..family import DEFAULT_PATH, ScoreFamily
from .convention import TIMES

#: Classes that are tested. Other classes are accepted if their `forward` takes a time.
CLASSES = (
    *("UNet2DModel", "UNet2DConditionModel", "DiTTransformer2DModel", "Transformer2DModel"),
    *("UNet1DModel", "UNet3DConditionModel", "UniDiffuserModel", "PixArtTransformer2DModel"),
    *("SD3Transformer2DModel", "FluxTransformer2DModel", "SanaTransformer2DModel"),
    *("HunyuanDiT2DModel", "LuminaNextDiT2DModel", "Lumina2Transformer2DModel"),
    *("AuraFlowTransformer2DModel", "CogVideoXTransformer3DModel", "WanTransformer3DModel"),
    *("LTXVideoTransformer3DModel", "HunyuanVideoTransformer3DModel", "MochiTransformer3DModel"),
    *("LatteTransformer3DModel", "StableAudioDiTModel"),
)
#: Classes in another module than the rest: the U-ViT of UniDiffuser.
ELSEWHERE = {"UniDiffuserModel": "diffusers.pipelines.deprecated.unidiffuser.modeling_uvit"}
DISCRETE = ("UVit2DModel", "UViT2DModel", "VQDiffusion")
SIDE = 32  # of latents if a configuration gives none: images of 256x256, an eighth of a side
FRAMES = 2
SIZES = ("sample_size", "video_length")

LARGEST_SIZE = 65_536  # the largest side or number of channels


def diffusers_family(
    path: Path,
    *,
    shape: tuple[int, ...] | None = None,
    schedule: DiffusionPath | None = None,
    prediction: str | None = None,
    name: str | None = None,
) -> ScoreFamily:
    """The family of a configuration file; its class is the one named by `_class_name`.

    Raises:
        InputError: for a file, class or configuration that cannot be used, or a missing extra.
    """
    config = _read(path)
    kind = config.get("_class_name")
    chosen = _class(kind, path)
    factory = partial(_build, chosen, config, path)
    shape = shape or _shape(config, chosen, path)
    label = name or f"diffusers:{path}"
    return ScoreFamily(factory, shape, schedule or DEFAULT_PATH, label, prediction=prediction)


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


def _class(kind: Any, path: Path) -> Any:
    """The class that a configuration names."""
    try:
        import diffusers
    except ImportError as error:
        raise InputError("diffusers is not installed: pip install 'sads[diffusers]'") from error
    if kind in DISCRETE:
        raise InputError(
            f"{path} has _class_name {kind!r}, which predicts tokens of a codebook: there is no "
            "noise in its input and no score; the U-ViT of diffusers is UniDiffuserModel"
        )
    if not isinstance(kind, str):
        raise InputError(f"{path} has no _class_name{expected_one_of(str(kind), CLASSES)}")
    where = import_module(ELSEWHERE[kind]) if kind in ELSEWHERE else diffusers
    network_class = getattr(where, kind, None)
    if not (
        isinstance(network_class, type)
        and issubclass(network_class, nn.Module)
        and _takes_time(network_class)
    ):
        raise InputError(f"{path} has _class_name {kind!r}{expected_one_of(kind, CLASSES)}")
    return network_class


def _takes_time(kind: type[nn.Module]) -> bool:
    return not set(TIMES).isdisjoint(inspect.signature(kind.forward).parameters)


def _build(kind: Any, config: dict[str, Any], path: Path) -> nn.Module:
    # Drop keys of ours for classes that take any size: diffusers would warn about them.
    taken = inspect.signature(kind.__init__).parameters
    config = {k: v for k, v in config.items() if k in taken or k not in SIZES}
    try:
        return kind.from_config(config)
    except Exception as error:
        raise InputError(f"{path} cannot be built as {kind.__name__}: {brief(error)}") from error


def _shape(config: dict[str, Any], kind: Any, path: Path) -> tuple[int, ...]:
    """Shape of one sample, from the configuration and the defaults of the class.

    Classes that take any size (they have no `sample_size`) get a small one. Channels that only
    serve as conditions (images and masks to paint into) are not part of the sample, and packed
    patches are put together.
    """
    known = {n: p.default for n, p in inspect.signature(kind.__init__).parameters.items()} | config
    arguments = set(inspect.signature(kind.forward).parameters)
    channels, out = known.get("in_channels"), known.get("out_channels")
    if isinstance(channels, int) and isinstance(out, int) and out < channels:
        channels = out
    if isinstance(channels, int) and {"img_ids", "txt_ids"} <= arguments:
        channels //= 4  # patches of 2x2
    if channels is None or known.get("sample_size", SIDE) is None:
        raise InputError(
            f"{path} does not say its shape (in_channels, sample_size): give a shape CxHxW"
        )
    sizes = (channels, *_sides({"sample_size": SIDE} | known, kind.__name__))
    if not all(isinstance(n, int) and 1 <= n <= LARGEST_SIZE for n in sizes):
        raise InputError(
            f"{path} has in_channels {channels} and sample_size {known.get('sample_size')}: "
            f"expected whole numbers from 1 to {LARGEST_SIZE:,}"
        )
    return sizes


def _sides(config: dict[str, Any], kind: str) -> tuple[Any, ...]:
    """Length, height and width, or frames, height and width."""
    size = config["sample_size"]
    if "sample_height" in config and "sample_width" in config:
        size = config["sample_height"], config["sample_width"]
    if "1D" in kind or "Audio" in kind:
        return (size,)
    sides = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    if "3D" not in kind or len(sides) == 3:
        return sides
    frames = config.get("video_length", config.get("sample_frames", FRAMES))
    ratio = config.get("temporal_compression_ratio")
    return ((frames - 1) // ratio + 1 if isinstance(ratio, int) else frames, *sides)
