"""How a module wants to be called, told by the signature of its `forward`.

The first argument is the input. The time is the argument with a name of `TIMES`; where there is
none, it is the second positional argument, whatever that is called: `labels`, `cond`, `y`. Only
`forward(t, x)`, the order of differential equations, is turned round. Labels and text are passed
where a module asks for them.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import nn

TIMES = (
    *("t", "timestep", "timesteps", "time", "times", "time_step", "time_steps", "time_cond"),
    *("diffusion_step", "diffusion_steps", "noise_labels", "noise_level", "sigma"),
)
INPUTS = ("x", "xt", "x_t", "z", "sample", "input", "inputs", "state", "y")
LABELS = ("y", "class_labels", "class_label", "labels", "label")
TEXT = "encoder_hidden_states"


@dataclass(frozen=True)
class Label:
    """A class label that is passed.

    Attributes:
        name: of the argument.
        value: the label.
        null: whether it is known to be the label of no class.
    """

    name: str
    value: int
    null: bool


@dataclass(frozen=True)
class Convention:
    """How a module wants to be called.

    Attributes:
        time: name of the argument of the timestep; None where the signature does not tell.
        by_keyword: whether the timestep is passed by that name; otherwise by its place.
        time_first: whether its place is before the input.
        sigma: whether it takes noise levels of the variance-exploding process.
        label: the class label to pass; None without one.
        text_width: width of the zero text embedding; None without one.
    """

    time: str | None
    by_keyword: bool
    time_first: bool
    sigma: bool
    label: Label | None
    text_width: int | None

    @property
    def passed(self) -> tuple[str, ...]:
        """Names of the arguments that are passed beside the input."""
        given = (self.time, self.label and self.label.name, self.text_width and TEXT)
        return tuple(name for name in given if name)


def arguments_of(network: nn.Module) -> list[inspect.Parameter]:
    """The arguments of `forward`, without `*args` and `**kwargs`; none where it does not tell."""
    try:
        parameters = inspect.signature(network.forward).parameters.values()
    except (TypeError, ValueError):  # compiled modules may not tell
        return []
    return [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def convention_of(network: nn.Module) -> Convention:
    """How a module wants to be called."""
    arguments = arguments_of(network)
    positional = [p for p in arguments if p.kind is not p.KEYWORD_ONLY]
    time = _time(arguments, positional)
    time_first = time is not None and time is arguments[0]
    taken = positional[1] if time_first else arguments[0] if arguments else None
    rest = {p.name: p for p in arguments if p is not time and p is not taken}
    return Convention(
        time.name if time else None,
        time is not None and not time_first and _by_keyword(time, positional),
        time_first,
        time is not None and time.name == "sigma",
        _label(network, rest),
        _text_width(network, rest),
    )


def _time(
    arguments: Sequence[inspect.Parameter], positional: Sequence[inspect.Parameter]
) -> inspect.Parameter | None:
    """The argument that takes the time."""
    named = [p for p in arguments[1:] if p.name in TIMES]
    if named:
        return named[0]
    if len(positional) > 1:
        turned = arguments[0].name in TIMES and positional[1].name in INPUTS
        return positional[0] if turned else positional[1]
    needed = [p for p in arguments[1:] if p.default is p.empty and p.name not in LABELS]
    return needed[0] if needed else None


def _by_keyword(time: inspect.Parameter, positional: Sequence[inspect.Parameter]) -> bool:
    if time.name in TIMES:
        return time.kind is not time.POSITIONAL_ONLY
    return time not in positional


def _label(network: nn.Module, arguments: Mapping[str, inspect.Parameter]) -> Label | None:
    """The label argument and the label to pass.

    The null label is the last row of the table of labels. A table without a null label starts with
    independent, identically distributed rows: then one label is as good as another.
    """
    name = next((n for n in arguments if n in LABELS), None)
    if name is None:
        return None
    rows = [
        module.num_embeddings
        for path, module in network.named_modules()
        if isinstance(module, nn.Embedding)
        and any(word in path.lower() for word in ("label", "class", "y_emb"))
    ]
    classes = getattr(network, "num_classes", None)
    classes = classes if isinstance(classes, int) else 0
    if rows:
        return Label(name, max(rows) - 1, null=max(rows) == classes + 1)
    if arguments[name].default is inspect.Parameter.empty:
        return Label(name, classes, null=False)
    return None


def _text_width(network: nn.Module, arguments: Mapping[str, inspect.Parameter]) -> int | None:
    """Width of the text embedding that a diffusers model attends to."""
    config = getattr(network, "config", None)
    if TEXT not in arguments or not isinstance(config, Mapping):
        return None
    for key in ("encoder_hid_dim", "caption_channels", "cross_attention_dim"):
        width = config.get(key)
        if width is not None:
            return int(width[0] if isinstance(width, (tuple, list)) else width)
    return None
