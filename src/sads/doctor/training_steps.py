"""Where training can take a network: a few real steps of Adam, followed by random moves.

What holds at the start need not hold after training, and how far a parameter moves has nothing to
do with its size: Adam moves one that starts at 1e-10 by the learning rate, and never moves one
whose gradient is zero, as behind two zero layers in a row. So steps of Adam on the denoising loss
are taken until none brings a gradient to a parameter that had none before (a zero layer lets one
through after its own first step). The parameters that had one are then moved on at random, by half
their own size or half the usual size of such a layer, whichever is larger.

The output is an analytic function of the parameters, piecewise at least. So if it does not depend
on something at such a point, then except by coincidence it does not anywhere that training can
reach.
"""

import math
from collections.abc import Set
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..diffusion.noising import Noising
from ..path import DiffusionPath
from ..randomness import torch_stream

RATE, DECAYS, EPSILON = 1e-3, (0.9, 0.999), 1e-8  # Adam as it is usually set
FEWEST, MOST = 3, 10


@dataclass(frozen=True)
class Steps:
    """What the first steps of training did.

    Attributes:
        taken: the number of steps.
        moved: names of the parameters that got a gradient.
        failure: why no step could be taken; empty if one was.
    """

    taken: int
    moved: frozenset[str]
    failure: str = ""


def take_steps(network: nn.Module, x: Tensor, schedule: DiffusionPath, seed: int) -> Steps:
    """Train a network that predicts noise on the samples x, in place."""
    generator = torch_stream(seed, "first steps of training")
    trained = {n: p for n, p in network.named_parameters() if p.requires_grad}
    moments: dict[str, tuple[Tensor, Tensor]] = {}
    noising = Noising.of(schedule, dtype=x.dtype)
    taken = 0
    while taken < MOST:
        known = len(moments)
        t = torch.randint(schedule.steps, (len(x),), generator=generator)
        eps = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        failure = _backward(network, noising.noisy(x, eps, t), t, eps)
        if failure:
            return Steps(taken, frozenset(moments), failure)
        taken += 1
        _adam(trained, moments, taken)
        if not moments:
            return Steps(taken, frozenset(), "no parameter gets a gradient")
        if taken >= FEWEST and len(moments) == known:
            break
    return Steps(taken, frozenset(moments))


def _backward(network: nn.Module, x: Tensor, t: Tensor, eps: Tensor) -> str:
    """Leave the gradient of the loss in the parameters, or say why there is none."""
    network.zero_grad(set_to_none=True)
    try:
        with torch.enable_grad():
            loss = (network(x, t) - eps).square().mean()
        if not loss.requires_grad:
            return "no parameter gets a gradient"
        loss.backward()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return f"its backward pass fails: {' '.join(str(error).split())[:200]}"
    return ""


@torch.no_grad()
def _adam(
    parameters: dict[str, nn.Parameter], moments: dict[str, tuple[Tensor, Tensor]], step: int
) -> None:
    """Take one step of Adam; torch's own takes longer to import than the examination takes."""
    for name, parameter in parameters.items():
        gradient = parameter.grad
        if gradient is None or (name not in moments and not bool(gradient.any())):
            continue
        gradient = gradient.to_dense()
        first, second = moments.get(name, (0.0, 0.0))
        first = DECAYS[0] * first + (1 - DECAYS[0]) * gradient
        second = DECAYS[1] * second + (1 - DECAYS[1]) * gradient.abs().square()
        moments[name] = (first, second)
        size = (second / (1 - DECAYS[1] ** step)).sqrt() + EPSILON
        parameter -= RATE * first / (1 - DECAYS[0] ** step) / size
        parameter.grad = None


@torch.no_grad()
def move_on(network: nn.Module, names: Set[str], seed: int) -> None:
    """Add noise to the named parameters, as far as a long training could take them."""
    generator = torch_stream(seed, "how an examination moves parameters")
    for name, parameter in network.named_parameters():
        if name in names:
            usual = 1 / math.sqrt(math.prod(parameter.shape[1:]))
            size = max(float(parameter.abs().double().square().mean().sqrt()), usual)
            noise = torch.randn(parameter.shape, generator=generator)
            parameter += 0.5 * size * noise.to(parameter)
