"""J v: how a network's output changes when its parameters move along v.

There are three ways; the first that the network allows is used:

- `forward`: forward-mode derivatives (`torch.func.jvp`), about the cost of two forward passes;
- `double backward`: J v is the derivative of u -> J^T u, applied to v; for operations without a
  forward derivative;
- `central difference`: (f(theta + h v) - f(theta - h v)) / 2h, for operations whose backward pass
  cannot be differentiated either (custom autograd functions). In float32 it has about three digits.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp

from ..errors import NetworkError
from ..randomness import torch_stream

Way = Literal["forward", "double backward", "central difference"]
WAYS: tuple[Way, ...] = ("forward", "double backward", "central difference")
AGREE: dict[Way, float] = {"forward": 1e-3, "double backward": 1e-3, "central difference": 5e-2}
STEP = {torch.float32: 1e-3, torch.float64: 1e-6}  # relative to the length of the parameters


def moving_parameters(network: nn.Module) -> dict[str, Tensor]:
    """The parameters that training would move, detached.

    Raises:
        NetworkError: if there are none.
    """
    moving = {n: p.detach() for n, p in network.named_parameters() if p.requires_grad}
    if not moving:
        raise NetworkError(
            "the network has no parameters that need gradients: there is nothing to train"
        )
    return moving


def gradient(
    network: nn.Module,
    parameters: Mapping[str, Tensor],
    x: Tensor,
    t: Tensor,
    pull: Callable[[Tensor], Tensor],
) -> dict[str, Tensor]:
    """J^T u for u = `pull(output)` (N, *shape), summed over inputs; zero for unused parameters."""
    names, values = list(parameters), [p.clone().requires_grad_() for p in parameters.values()]
    with torch.enable_grad():
        output = functional_call(network, dict(zip(names, values, strict=True)), (x, t))
        if not output.requires_grad:
            raise NetworkError(
                "the network's output cannot be differentiated by its parameters: it depends on "
                "none of those that need gradients (torch.no_grad or detach in its forward?)"
            )
        pulled = pull(output.detach()).to(output)
        grads = torch.autograd.grad(output, values, pulled, allow_unused=True)
    return {
        n: torch.zeros_like(v) if g is None else g
        for n, v, g in zip(names, values, grads, strict=True)
    }


def product(
    network: nn.Module,
    parameters: Mapping[str, Tensor],
    along: Mapping[str, Tensor],
    x: Tensor,
    t: Tensor,
    way: Way,
) -> Tensor:
    """J v at inputs x (N, *shape) and t (N,), v = `along`: (N, *shape)."""

    def output(moved: Mapping[str, Tensor]) -> Tensor:
        return functional_call(network, dict(moved), (x, t))

    if way == "forward":
        _load_forward_derivatives()
        return jvp(output, (dict(parameters),), (dict(along),))[1].detach()
    if way == "double backward":
        return _double_backward(output, parameters, along)
    return _central_difference(output, parameters, along)


@cache
def _load_forward_derivatives() -> None:
    """Let torch import what it needs, once: newer versions warn there of a part of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jvp(torch.square, (torch.zeros(1),), (torch.ones(1),))


def _double_backward(output, parameters: Mapping[str, Tensor], along: Mapping[str, Tensor]):
    names, values = list(parameters), [p.clone().requires_grad_() for p in parameters.values()]
    with torch.enable_grad():
        whole = output(dict(zip(names, values, strict=True)))
        pull = torch.zeros_like(whole, requires_grad=True)
        pulled = torch.autograd.grad(whole, values, pull, create_graph=True, allow_unused=True)
        kept = [(g, along[n]) for n, g in zip(names, pulled, strict=True) if g is not None]
        total = torch.stack([(g * v).sum() for g, v in kept]).sum()
        return torch.autograd.grad(total, pull)[0].detach()


@torch.no_grad()
def _central_difference(
    output, parameters: Mapping[str, Tensor], along: Mapping[str, Tensor], wider: float = 1.0
):
    def length(of: Mapping[str, Tensor]) -> float:
        return float(torch.stack([v.double().square().sum() for v in of.values()]).sum().sqrt())

    size = length(along)
    if size == 0:
        return torch.zeros_like(output(parameters))
    dtype = next(iter(parameters.values())).dtype
    step = wider * STEP.get(dtype, 1e-3) * max(length(parameters), 1e-6) / size
    ahead, behind = (
        output({n: p + sign * step * along[n] for n, p in parameters.items()}) for sign in (1, -1)
    )
    return (ahead - behind) / (2 * step)


def choose_way(network: nn.Module, x: Tensor, t: Tensor) -> Way:
    """The first way that works for a network at inputs x (N, *shape) and t (N,).

    Raises:
        NetworkError: if none does.
    """
    parameters = moving_parameters(network)
    generator = torch_stream(0, "direction that tries a Jacobian product")
    along = {
        n: torch.randn(p.shape, generator=generator).to(p) * p.double().square().mean().sqrt().to(p)
        for n, p in parameters.items()
    }
    tried: dict[Way, Tensor] = {}
    reason = ""
    for way in WAYS:
        try:
            tried[way] = product(network, parameters, along, x, t, way)
        except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
    if WAYS[-1] not in tried:
        raise NetworkError(
            f"the network's output cannot be differentiated by its parameters: {reason}"
        )
    borne_out: list[Way] = [way for way in tried if _is_borne_out(way, tried)]
    chosen = borne_out[0] if borne_out else WAYS[-1]
    if chosen == WAYS[-1]:

        def output(moved: Mapping[str, Tensor]) -> Tensor:
            return functional_call(network, dict(moved), (x, t))

        wider = _central_difference(output, parameters, along, wider=2.0)
        if not _agree(tried[chosen], wider, AGREE[chosen]):
            raise NetworkError(
                "the network's output cannot be differentiated by its parameters: no two ways to "
                "do it agree (a rounding in its forward pass?)"
            )
    return chosen


def _is_borne_out(way: Way, tried: dict[Way, Tensor]) -> bool:
    """Whether another way agrees; custom autograd functions can be silently wrong."""
    return any(
        _agree(tried[way], value, AGREE[other]) for other, value in tried.items() if other != way
    )


def _agree(a: Tensor, b: Tensor, tolerance: float) -> bool:
    return float((a - b).norm()) <= tolerance * float(b.norm())
