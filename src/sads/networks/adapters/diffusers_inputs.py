"""What some classes of diffusers need beyond the usual: layouts, positions, sizes of images.

Their pipelines compute these from the size of the image. They are computed here in the same way,
with functions of diffusers where they exist. The library is imported only for such a class.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .arrangements import Arrangement, FramesFirst, Packed, Widened
from .conditions import Computed, Condition, Filled
from .null_conditions import configuration, setting_of

META = (1024, 1024, 1024, 1024, 0, 0)  # HunyuanDiT: original size, target size, crop


def arrangement_of(network: nn.Module, arguments: set[str]) -> Arrangement:
    """How inputs are laid out for a module."""
    config = configuration(network)
    if {"img_ids", "txt_ids"} <= arguments:
        return Packed((2, 2))  # as in the pipeline of Flux
    if {"num_frames", "height", "width"} <= arguments:
        return Packed((1, 1, 1))
    if {"sample_frames", "max_text_seq_length"} <= set(config):
        return FramesFirst()
    takes, gives = (setting_of(network, key) for key in ("in_channels", "out_channels"))
    if isinstance(takes, int) and isinstance(gives, int) and takes > gives > 0:
        return Widened(takes)
    return Arrangement()


def particular_conditions(network: nn.Module, arguments: set[str]) -> Iterator[Condition]:
    """What is passed to classes of diffusers besides the conditions of `null_conditions`."""
    config = configuration(network)
    if {"img_ids", "txt_ids"} <= arguments:
        yield Computed("img_ids", "positions of the tokens", _grid_ids)
        yield Filled("txt_ids", "", (1, 3), batched=False)
    if {"num_frames", "height", "width"} <= arguments:
        for i, name in enumerate(("num_frames", "height", "width")):
            yield Computed(name, "that of the sample", _side(i))
    if "image_meta_size" in arguments:
        yield from _of_hunyuan(config)
    if {"timestep_text", "prompt_embeds"} <= arguments:
        yield from _of_unidiffuser(config)
    if type(network).__name__ == "LuminaNextDiT2DModel":
        yield Computed("cross_attention_kwargs", "an empty dictionary", lambda x: {})
    for name in {"image_rotary_emb", "rotary_embedding"} & arguments:
        if (rotary := _rotary(network)) is not None:
            yield Computed(name, "rotary embeddings of the positions", rotary)


def needs_float_time(network: nn.Module) -> bool:
    """Whether a class computes in the precision of its timesteps, so that they must be floats."""
    return type(network).__name__ == "HunyuanDiT2DModel"


def _grid_ids(x: Tensor) -> Tensor:
    """A zero, the row and the column of each 2x2 patch."""
    rows, columns = (torch.arange(n // 2, device=x.device, dtype=x.dtype) for n in x.shape[2:])
    grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), dim=-1).flatten(0, 1)
    return torch.cat([torch.zeros_like(grid[:, :1]), grid], dim=1)


def _side(axis: int) -> Callable[[Tensor], int]:
    return lambda x: int(x.shape[2 + axis])


def _of_hunyuan(config: Any) -> Iterator[Condition]:
    tokens, more = config["text_len"], config["text_len_t5"]
    yield Filled("text_embedding_mask", "", (tokens,), 1, "int")
    yield Filled("encoder_hidden_states_t5", "", (more, config["cross_attention_dim_t5"]))
    yield Filled("text_embedding_mask_t5", "", (more,), 1, "int")
    if config.get("use_style_cond_and_image_meta_size"):
        meaning = "an image of 1024x1024"
        yield Computed("image_meta_size", meaning, lambda x: x.new_tensor(META).repeat(len(x), 1))
        yield Filled("style", "", (), 0, "int")


def _of_unidiffuser(config: Any) -> Iterator[Condition]:
    """The image without its text, which is at the last timestep and therefore pure noise."""
    yield Filled("image_embeds", "", (1, config["clip_img_dim"]))
    yield Filled("prompt_embeds", "", (config["num_text_tokens"], config["text_dim"]))
    yield Filled("timestep_text", "text of pure noise", (), 999, "int")


def _rotary(network: nn.Module) -> Callable[[Tensor], Any] | None:
    """The function that makes the rotary embedding of a class; None if it makes its own."""
    config, kind = configuration(network), type(network).__name__
    if kind == "HunyuanDiT2DModel":
        return lambda x: _two_axes(x, config["attention_head_dim"], config["patch_size"])
    if kind == "LuminaNextDiT2DModel":
        width = config["hidden_size"] // config["num_attention_heads"]
        return lambda x: _of_lumina(x, width)
    if kind == "CogVideoXTransformer3DModel" and config["use_rotary_positional_embeddings"]:
        return lambda x: _three_axes(x, config)
    if kind == "StableAudioDiTModel":
        return lambda x: _one_axis(x, config["attention_head_dim"] // 2)
    return None


def _one_axis(x: Tensor, width: int) -> tuple[Tensor, Tensor]:
    from diffusers.models.embeddings import get_1d_rotary_pos_embed

    tokens = x.shape[2] + 1  # one global token before those of the sample
    cos, sin = get_1d_rotary_pos_embed(width, tokens, use_real=True, repeat_interleave_real=False)
    return cos.to(x), sin.to(x)


def _two_axes(x: Tensor, width: int, patch: int) -> tuple[Tensor, Tensor]:
    from diffusers.models.embeddings import get_2d_rotary_pos_embed

    grid = tuple(n // patch for n in x.shape[2:])
    made = get_2d_rotary_pos_embed(width, ((0, 0), grid), grid, output_type="pt")
    return made[0].to(x), made[1].to(x)


def _of_lumina(x: Tensor, width: int) -> Tensor:
    from diffusers.models.embeddings import get_2d_rotary_pos_embed_lumina

    longest = max(x.shape[2:])
    return get_2d_rotary_pos_embed_lumina(width, longest, longest).to(x.device)


def _three_axes(x: Tensor, config: Any) -> tuple[Tensor, Tensor]:
    from diffusers.models.embeddings import get_3d_rotary_pos_embed

    frames, *sides = x.shape[2:]
    grid = tuple(n // config["patch_size"] for n in sides)
    frames = -(-frames // (config["patch_size_t"] or 1))
    cos, sin = get_3d_rotary_pos_embed(
        config["attention_head_dim"], ((0, 0), grid), grid, temporal_size=frames
    )
    return cos.to(x), sin.to(x)
