"""Other people's modules as networks of a family: which adapter they get, if they need one."""

import torch
from torch import nn

from ...errors import NetworkError
from ...path import DiffusionPath, prediction_named
from ..base import ScoreNetwork
from ..casting import cast
from ..fresh_copies import unwrapped
from .calls import SIGMA, Adapted
from .convention import convention_of
from .stated_calls import Calling


def adapt(
    network: object,
    name: str,
    path: DiffusionPath,
    prediction: str | None = None,
    *,
    time: str | None = None,
    reverse: bool = False,
    calling: Calling | None = None,
    guided_at: str | None = None,
) -> nn.Module:
    """A module as a noise predictor; networks of this package are returned as they are.

    Of a compiled module the original is used, and modules in half precision become float32.

    Args:
        network: the module.
        name: the name of its family.
        path: the path from data to noise.
        prediction: what it predicts; noise unless given, or x0 for one that takes `sigma`.
        time: the form of time that it is given; unless given the usual one of the path, and for
            networks of this package the number of the level.
        reverse: whether time runs from noise to data.
        calling: what its user states about the call.
        guided_at: the layer before which guidance combines features; None to combine outputs.

    Raises:
        NetworkError: for something that is not a module, or a scripted one.
        InputError: for an unknown prediction or time, or one that is not defined on the path.
    """
    if prediction is not None:
        prediction_named(prediction)  # refuses unknown ones
    if not isinstance(network, nn.Module):
        is_class = isinstance(network, type)
        got = f"the class {network.__name__}" if is_class else f"a {type(network).__name__}"
        raise NetworkError(f"the factory of {name} must return a torch module, got {got}")
    plain = prediction in (None, "eps") and time in (None, "index") and not reverse
    plain = plain and (calling is None or calling.label is calling.guidance is None)
    if isinstance(network, (ScoreNetwork, Adapted)) and plain:
        return network
    if isinstance(network, torch.jit.ScriptModule):
        raise NetworkError(
            f"the factory of {name} returns a scripted module, whose layers cannot be seen: return "
            "the module itself, as it is before torch.jit.script or torch.jit.trace"
        )
    network = in_single_precision(plain_module(network))
    convention = convention_of(network)
    usual = "index" if isinstance(network, ScoreNetwork) else path.usual_time
    usual = SIGMA if convention.sigma else usual
    default = "x0" if convention.sigma else "eps"
    return Adapted(
        network,
        convention,
        prediction or default,
        path,
        calling,
        time=time or usual,
        reverse=reverse,
        guided_at=guided_at,
    )


def plain_module(network: nn.Module) -> nn.Module:
    """The module that `torch.compile` wrapped, or the module itself, not compiled in place."""
    network = unwrapped(network)
    for module in network.modules():
        if getattr(module, "_compiled_call_impl", None) is not None:  # compiled in place
            module._compiled_call_impl = None
    return network


def in_single_precision(network: nn.Module) -> nn.Module:
    """The module, cast to float32 if some of it is in half precision."""
    values = (*network.parameters(), *network.buffers())
    half = any(value.dtype in (torch.float16, torch.bfloat16) for value in values)
    return cast(network, torch.float32) if half else network
