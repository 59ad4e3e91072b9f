"""The null condition of a network, for common signatures.

The names of a module's arguments show what it needs besides input and time; its configuration, its
attributes or its layers show how wide that is. The null condition is what people pass for "nothing
in particular": text and pooled embeddings of zeros, masks of ones, the label of no class, a
guidance scale of one, no image. Positions are no condition: each token gets its own.

An argument without a default is filled if it is known. One with a default is filled only if the
configuration or the layers show that the module needs it anyway.
"""

import inspect
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from types import SimpleNamespace
from typing import Any

from torch import nn

from ...errors import InputError
from .conditions import Condition, Filled, Like, OneHot, Several

LABELS = ("y", "class_labels", "class_label", "labels", "label", "classes")
TEXT = "encoder_hidden_states"
TEXTS = (
    *(TEXT, "context", "text_embeds", "text_embed", "text_emb", "text", "caption", "cond_emb"),
    *("txt", "prompt_embeds"),
)
POOLED = ("pooled_projections", "pooled_text_emb", "pooled_text_embeds")
MASKS = ("encoder_attention_mask", "encoder_mask", "attention_mask", "text_mask", "context_mask")
SELF = (
    *("x_self_cond", "self_cond", "x_sc", "prev_x0", "x_cond", "cond_image", "low_res", "image"),
    *("low_res_image", "masked_image", "cond_img", "image_cond", "x_lr"),
)
GUIDANCE = ("guidance", "guidance_scale", "cfg_scale")
#: Keys of a configuration, or attributes, that give a width, the most specific first.
TEXT_WIDTHS = (
    *("encoder_hid_dim", "joint_attention_dim", "caption_channels", "text_embed_dim", "text_dim"),
    *("cap_feat_dim", "cross_attention_input_dim", "cross_attention_dim", "context_dim"),
    "context_in_dim",
)
POOLED_WIDTHS = ("pooled_projection_dim", "cond_embed_dim", "vec_in_dim")
CONFIGURATIONS = ("config", "params", "hparams", "cfg")  # names under which modules keep them
TOKENS = ("text_len", "max_text_seq_length")  # where the number of tokens is fixed
TIME_IDS = 6  # of SDXL: two sizes and one crop, two numbers each


@dataclass(frozen=True)
class Asked:
    """One argument of one module.

    Attributes:
        network: the module.
        parameter: the argument.
    """

    network: nn.Module
    parameter: inspect.Parameter

    @property
    def name(self) -> str:
        """The name of the argument."""
        return self.parameter.name

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.parameter.default is inspect.Parameter.empty

    def setting(self, *keys: str) -> Any:
        """The value of the first of the keys that the configuration or the attributes have."""
        values = (setting_of(self.network, key) for key in keys)
        return next((value for value in values if value is not None), None)

    def width(self, *keys: str) -> int | None:
        """The width under the first of the keys that exists; the first one of a list."""
        value = self.setting(*keys)
        while isinstance(value, (tuple, list)) and value:
            value = value[0]
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def configuration(network: nn.Module) -> Mapping[str, Any]:
    """The configuration that a module keeps, a mapping or a plain object; else empty."""
    for name in CONFIGURATIONS:
        kept = getattr(network, name, None)
        if isinstance(kept, Mapping):
            return kept
        if is_dataclass(kept) or isinstance(kept, (SimpleNamespace, Namespace)):
            return vars(kept)
    return {}


def setting_of(network: nn.Module, key: str) -> Any:
    """The value that a module has for a key, in its configuration or as an attribute."""
    config = configuration(network)
    if key in config:
        return config[key]
    # Without getattr, because diffusers warns if it reads entries of the configuration.
    value = vars(network).get(key, getattr(type(network), key, None))
    return None if callable(value) else value


def null_conditions(
    network: nn.Module, arguments: Sequence[inspect.Parameter]
) -> tuple[Condition, ...]:
    """The null condition of a module: what is passed for its arguments besides input and time."""
    conditions = []
    for parameter in arguments:
        asked = Asked(network, parameter)
        conditions += next((some for find in FINDERS if (some := tuple(find(asked)))), ())
    return tuple(conditions)


def _label(asked: Asked) -> Iterator[Condition]:
    """The label or the vector of no class.

    The null label is the last row of the table of labels. In a table without a null label the rows
    are independent and identically distributed, so that any label will do.
    """
    if asked.name not in LABELS:
        return
    rows, classes, vector = _rows(asked), _classes(asked), _label_width(asked)
    if rows:
        null = "null" if max(rows) == classes + 1 else ""
        yield Filled(asked.name, null, (), max(rows) - 1, "int")
    elif vector:
        yield Filled(asked.name, "no class", (vector,))
    elif asked.required:
        yield Filled(asked.name, "", (), classes, "int")


def _rows(asked: Asked) -> list[int]:
    """Rows of the tables of labels."""
    return [
        module.num_embeddings
        for path, module in asked.network.named_modules()
        if isinstance(module, nn.Embedding)
        and any(word in path.lower() for word in ("label", "class", "y_emb"))
    ]


def _classes(asked: Asked) -> int:
    """The number of classes that a module states; zero if it does not."""
    classes = asked.setting("num_classes")
    return classes if isinstance(classes, int) else 0


def class_condition(network: nn.Module, parameter: inspect.Parameter, label: int) -> Condition:
    """A class, to replace the null condition.

    Raises:
        InputError: if the module has fewer classes.
    """
    asked = Asked(network, parameter)
    rows, classes, vector = _rows(asked), _classes(asked), _label_width(asked)
    known = classes or max(rows, default=0) or vector or 0
    if known and label >= known:
        raise InputError(
            f"class={label}: {type(network).__name__} has {known} classes, 0 to {known - 1}"
        )
    if vector and not rows:
        return OneHot(asked.name, f"class {label} of {vector}", vector, label)
    return Filled(asked.name, "class", (), label, "int")


def _label_width(asked: Asked) -> int | None:
    """The width of labels that are vectors: projected ones of diffusers, or one-hot as in EDM."""
    kind = configuration(asked.network).get("class_embed_type")
    if kind in ("projection", "simple_projection"):
        return asked.width("projection_class_embeddings_input_dim")
    if kind is not None:
        return None
    return asked.width("label_dim", "vec_in_dim") if asked.required else None


def _text(asked: Asked) -> Iterator[Condition]:
    """A zero embedding of one token: attention to equal tokens does not depend on their number."""
    if asked.name not in TEXTS:
        return
    widths = asked.setting(*TEXT_WIDTHS)
    if _is_list(asked) and isinstance(widths, (tuple, list)):
        yield Several(asked.name, "", tuple(Filled("", "", (1, int(n))) for n in widths))
        return
    width = asked.width(*TEXT_WIDTHS)
    if width is None or not (asked.name == TEXT or asked.required):
        width = width if asked.required and width else cross_attention_width(asked.network)
    if width is not None:
        yield Filled(asked.name, "", (asked.width(*TOKENS) or 1, width))


def _is_list(asked: Asked) -> bool:
    """Whether an argument is annotated as a list."""
    return "list[" in inspect.formatannotation(asked.parameter.annotation).lower()


def cross_attention_width(network: nn.Module) -> int | None:
    """The width of what a module attends to besides its own tokens, from keys and queries."""
    for path, layer in network.named_modules():
        for key, query in (("to_k", "to_q"), ("k_proj", "q_proj"), ("key", "query")):
            if path.rpartition(".")[2] != key or not isinstance(layer, nn.Linear):
                continue
            own = dict(network.named_modules()).get(path.removesuffix(key) + query)
            if isinstance(own, nn.Linear) and own.in_features != layer.in_features:
                return layer.in_features
    return None


def _pooled(asked: Asked) -> Iterator[Condition]:
    if asked.name in POOLED and (width := asked.width(*POOLED_WIDTHS)) is not None:
        yield Filled(asked.name, "", (width,))
    if asked.name == "global_hidden_states" and (width := asked.width("global_states_input_dim")):
        yield Filled(asked.name, "", (1, width))


def _mask(asked: Asked) -> Iterator[Condition]:
    """A mask in which all tokens count."""
    if asked.name in MASKS and asked.required:
        yield Filled(asked.name, "", (asked.width(*TOKENS) or 1,), 1, "int")


def _guidance(asked: Asked) -> Iterator[Condition]:
    """A scale of one; an argument with a default needs it only if the scale is embedded."""
    needed = asked.required or asked.setting("guidance_embeds", "guidance_embed")
    if asked.name in GUIDANCE and needed:
        yield Filled(asked.name, "", (), 1.0)


def _like_the_input(asked: Asked) -> Iterator[Condition]:
    if asked.name in SELF and asked.required:
        yield Like(asked.name)


def _added(asked: Asked) -> Iterator[Condition]:
    """The further conditions of diffusers' U-Nets and of PixArt."""
    if asked.name != "added_cond_kwargs":
        return
    kind = asked.setting("addition_embed_type")
    if kind == "text_time":
        times = asked.width("addition_time_embed_dim") or 0
        whole = asked.width("projection_class_embeddings_input_dim") or 0
        yield Filled("added_cond_kwargs.text_embeds", "", (whole - TIME_IDS * times,))
        yield Filled("added_cond_kwargs.time_ids", "", (TIME_IDS,))
    elif kind in ("image", "text_image", "image_hint"):
        width = asked.width("encoder_hid_dim") or asked.width("cross_attention_dim") or 1
        yield Filled("added_cond_kwargs.image_embeds", "", (width,))
        if kind == "text_image":
            yield Filled("added_cond_kwargs.text_embeds", "", (width,))
    elif getattr(asked.network, "use_additional_conditions", False):
        yield Filled("added_cond_kwargs.resolution", "", (2,))
        yield Filled("added_cond_kwargs.aspect_ratio", "", (1,))


FINDERS: tuple[Callable[[Asked], Iterator[Condition]], ...] = (
    _label,
    _text,
    _pooled,
    _mask,
    _guidance,
    _like_the_input,
    _added,
)
