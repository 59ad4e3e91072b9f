"""The network under examination: as it starts, and with every parameter moved.

What holds at the start need not hold after training. So blindness is asked of two networks: one as
the factory makes it, and the same with noise on every parameter, zero ones included. Both are
evaluated in float64, where "does not depend on" means below 1e-9; in float32, where a module fixes
its precision, below 1e-4.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..errors import NetworkError
from ..geometry.checks import check_family
from ..geometry.probes import Gaussian
from ..networks import ScoreFamily
from ..networks.adapters.calls import Adapted
from ..networks.adapters.explain import why_not_called
from ..networks.casting import cast
from ..networks.zero import Silence, is_mute, redrawing, silence_of
from ..randomness import stream, torch_stream

INPUTS = 4
ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4}


@dataclass(frozen=True)
class Patient:
    """One architecture, ready to be asked.

    Attributes:
        family: the architecture; if its output is silent, with the layers to blame redrawn.
        silence: what zeroes its output; None if nothing does.
        start: one network as it starts.
        moved: the same with every parameter moved.
        x: Gaussian inputs, shape (INPUTS, *shape).
    """

    family: ScoreFamily
    silence: Silence | None
    start: nn.Module
    moved: nn.Module
    x: Float[Tensor, "N ..."]

    @property
    def rounding(self) -> float:
        """Relative differences below this are rounding."""
        return ROUNDING[self.x.dtype]

    @property
    def module(self) -> nn.Module:
        """The module inside, whose layers can be named."""
        return self.start.network if isinstance(self.start, Adapted) else self.start

    def run(
        self, network: nn.Module, x: Float[Tensor, "N ..."], timestep: int
    ) -> Float[Tensor, "N ..."]:
        """What a network itself outputs at one timestep, before conversion to noise."""
        t = torch.full((len(x),), timestep)
        with torch.inference_mode():
            noise = network(x.clone(), t)
        if not isinstance(network, Adapted):
            return noise
        tables = dict(network.named_buffers(recurse=False))
        constant, scale = (float(tables[name][timestep]) for name in ("constant", "scale"))
        return (noise - constant * x) / scale

    @property
    def middle(self) -> int:
        """A timestep in the middle of the schedule."""
        return self.family.schedule.steps // 2


def admit(family: ScoreFamily, seed: int = 0) -> Patient:
    """Build what the examination needs; a silent network is woken first.

    Raises:
        NetworkError: if the family cannot be evaluated at all.
    """
    probe = Gaussian(1.0)
    x = torch.randn(INPUTS, *family.shape, generator=torch_stream(seed, "inputs of an examination"))
    first = family.member(seed).eval()
    silence = None
    middle = torch.tensor([family.schedule.steps // 2])
    if _is_silent(family, first, x, seed) or is_mute(first, x[:1], middle):
        silence = silence_of(first, x[:1], middle)
    if silence is not None:
        names = silence.layers or silence.zeros
        family = replace(family, factory=redrawing(family.factory, names))
    family = check_family(family, probe, seed, "last").members.family
    # Made twice and not copied: some modules refuse that.
    start, moved = (family.member(seed).eval().requires_grad_(False) for _ in range(2))
    perturb(moved, seed)
    try:
        start, moved = (cast(network, torch.float64) for network in (start, moved))
        x = x.double()
        with torch.inference_mode():
            start(x[:1].clone(), torch.zeros(1, dtype=torch.int64))
    except (RuntimeError, TypeError):  # some modules fix their precision inside
        start, moved = (cast(network, torch.float32) for network in (start, moved))
        x = x.float()
    return Patient(family, silence, start, moved, x)


def _is_silent(family: ScoreFamily, first: nn.Module, x: Tensor, seed: int) -> bool:
    """Whether another network of the family gives the very same output."""
    t = torch.tensor([family.schedule.steps // 2])
    other = int(stream(seed, "another network to compare with").integers(2**62))
    try:
        with torch.inference_mode():
            return torch.equal(
                first(x[:1].clone(), t), family.member(other).eval()(x[:1].clone(), t)
            )
    except Exception as error:
        raise NetworkError(why_not_called(first, x[:1], error)) from error


@torch.no_grad()
def perturb(network: nn.Module, seed: int) -> None:
    """Add noise to every parameter, half as large as the parameters themselves."""
    generator = torch_stream(seed, "how an examination moves parameters")
    for parameter in network.parameters():
        size = float(parameter.abs().double().square().mean().sqrt())
        fan = math.prod(parameter.shape[1:])
        step = 0.5 * (size or 1 / math.sqrt(fan))
        noise = torch.randn(parameter.shape, generator=generator)
        parameter += step * noise.to(parameter)


def relative(difference: Tensor, scale: Tensor) -> float:
    """Norm of one tensor over that of another; 0 where both vanish."""
    size = float(scale.norm())
    return float(difference.norm()) / size if size else float(np.sign(float(difference.norm())))
