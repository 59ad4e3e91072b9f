"""Signs in a module's names, annotations and configuration that an assumption is wrong."""

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from torch import nn

from .calls import Adapted
from .convention import arguments_of

FLOW = {"flow", "flows", "flowmatch", "flowmatching", "rectified", "reflow", "velocity", "cfm"}
FLOW_CLASSES = ("SD3Transformer2DModel", "FluxTransformer2DModel", "SiT")
#: Ways to name a prediction: diffusers' `prediction_type`, `objective`, `parameterization`.
STATED = {
    **dict.fromkeys(("epsilon", "eps", "noise", "pred_noise", "pred_eps"), "eps"),
    **dict.fromkeys(("v_prediction", "v", "pred_v"), "v"),
    **dict.fromkeys(("sample", "x0", "pred_x0", "x_start", "pred_x_start"), "x0"),
    **dict.fromkeys(("flow", "velocity", "flow_prediction", "flow_matching"), "flow"),
    **dict.fromkeys(("score", "pred_score"), "score"),
}
STATED_BY = ("prediction_type", "objective", "parameterization")
LEVELS = (
    *("noise_labels", "noise_level", "noise_levels", "sigmas", "log_snr", "logsnr", "c_noise"),
)
UNIT = re.compile(r"(?:\[0(?:\.0*)?,\s*1(?:\.0*)?\]|between 0 and 1|from 0 to 1)")


def hints_of(member: Adapted, name: str = "", where: str = "") -> tuple[str, ...]:
    """Signs against the way in which a module is called, one sentence each.

    Args:
        member: the network as its family makes it.
        name: the name of the family.
        where: the part of the output that is read, in words.
    """
    network = member.network
    looks = tuple(_flow(network, name)) if member.prediction != "flow" else ()
    looks = looks or tuple(_output(where, member.prediction))
    time = () if looks else _time(member)  # a flow has another time anyway
    return (*looks, *_stated(network, member.prediction), *time)


def _output(where: str, prediction: str) -> Iterator[str]:
    """What the name of the part that is read says about the prediction."""
    named = re.match(r"(?:the key |`\.)(\w+)", where)
    word = named.group(1).lower() if named else ""
    meant = None if word == "sample" else STATED.get(word)  # diffusers call every output so
    if meant not in (None, prediction):
        yield f"the output is read from `{word}`: if it is that, write `prediction={meant}`"


def _flow(network: nn.Module, name: str) -> Iterator[str]:
    path, _, factory = name.partition(",")[0].rpartition(":")
    own = (type(network).__name__, type(network).__module__, PurePath(path).stem, factory)
    sign = next((word for text in own for word in _words(text) if word in FLOW), None)
    scheduler = _scheduler(_config(network))
    if scheduler is not None and "flow" in scheduler.lower():
        sign = scheduler
    if type(network).__name__ in FLOW_CLASSES:
        sign = type(network).__name__
    if sign is not None:
        yield (
            f"it looks like a flow-matching network (`{sign}`): if so, write `prediction=flow` "
            "after its name, and `reverse` if its time runs from noise to data"
        )


def _words(text: str) -> list[str]:
    """The words of a name in any spelling.

    >>> _words("RectifiedFlowNet"), _words("my_flow2d")
    (['rectified', 'flow', 'net'], ['my', 'flow'])
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)
    return [part.lower() for part in parts if part.lower() != "d"]


def _config(network: nn.Module) -> Mapping[str, Any]:
    config = getattr(network, "config", None)
    return config if isinstance(config, Mapping) else {}


def _scheduler(config: Mapping[str, Any]) -> str | None:
    """The class of scheduler that a configuration names."""
    named = config.get("scheduler")
    if isinstance(named, Mapping):
        named = named.get("_class_name")
    if isinstance(named, (tuple, list)) and named:  # library and class, as in an index of models
        named = named[-1]
    return named if isinstance(named, str) else None


def _stated(network: nn.Module, prediction: str) -> Iterator[str]:
    """What the module itself says about its prediction."""
    config = _config(network)
    for key in STATED_BY:
        value = config.get(key, getattr(network, key, None))
        if not isinstance(value, str):
            continue
        known = STATED.get(value.lower(), "flow" if "flow" in value.lower() else prediction)
        if known != prediction:
            yield f"it says {key} = {value}: if so, write `prediction={known}` after its name"


def _time(member: Adapted) -> Iterator[str]:
    """Signs that the time should be something else than a whole timestep."""
    network, how = member.network, member.convention
    if member.time != "index" or how.time is None:
        return
    if how.time in LEVELS:
        yield (
            f"`{how.time}` sounds like a noise level, but gets whole timesteps: if it is one, wrap "
            "the network in its preconditioning, `forward(x, sigma)`, or write `time=log-sigma`"
        )
        return
    argument = next((p for p in arguments_of(network) if p.name == how.time), None)
    annotation = "" if argument is None else inspect.formatannotation(argument.annotation)
    if re.search(r"\bfloat|\bFloat", annotation) and "int" not in annotation.lower():
        yield (
            f"`{how.time}` is annotated as {annotation}, but gets whole timesteps: if that is "
            "wrong, write `time=unit` or `time=thousand` after the name of the network"
        )
    elif _documented_as_unit(network, how.time):
        yield (
            f"its documentation has `{how.time}` between 0 and 1, but it gets whole timesteps: if "
            "that is wrong, write `time=unit` after the name of the network"
        )


def _documented_as_unit(network: nn.Module, time: str) -> bool:
    """Whether a docstring says on one line that the time lies between 0 and 1."""
    forward = getattr(type(network), "forward", None)  # a scripted module's class has none
    texts = (type(network).__doc__, forward.__doc__)
    lines = [line for text in texts if text for line in text.splitlines()]
    return any(re.search(rf"\b{time}\b", line) and UNIT.search(line) for line in lines)
