"""The network under examination: as it starts, and where training can take it.

What holds at the start need not hold after training. So blindness is tested on two networks: one as
the factory makes it, and one that was trained for a few steps and then moved at random (`steps`).
Both are evaluated in float64, where "does not depend on" means below 1e-9, or in float32, where
it means below 1e-4, if a module fixes its precision.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..diffusion.training import explained
from ..errors import NetworkError
from ..geometry import Geometry
from ..inspection.checks import check_family
from ..inspection.zero_outputs import Silence, is_mute, redrawn, silence_of, zero_layers
from ..networks import ScoreFamily
from ..networks.adapters import Adapted, module_inside
from ..networks.adapters.explain import why_not_called
from ..networks.casting import cast
from ..probes import Gaussian
from ..randomness import stream, torch_stream
from .finding import Undecided
from .training_steps import Steps, move_on, take_steps

INPUTS, FEW = 4, 2  # Gaussian inputs; how many of them suffice for exact answers
MOVED = "with every parameter that Adam moves moved at random"
ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4}


@dataclass(frozen=True)
class Patient:
    """One architecture, and two of its networks to be examined.

    Attributes:
        family: the architecture; if its output is silent, with the layers to blame redrawn.
        silence: what zeroes its output; None if nothing does.
        start: one network as it starts, redrawn likewise.
        moved: one that was trained for a few steps from its start, and then moved at random.
        steps: what these steps did.
        stuck: layers that start at zero and that training does not move.
        x: Gaussian inputs, shape (INPUTS, *shape).
    """

    family: ScoreFamily
    silence: Silence | None
    start: nn.Module
    moved: nn.Module
    steps: Steps
    stuck: tuple[str, ...]
    x: Float[Tensor, "N ..."]

    @property
    def rounding(self) -> float:
        """The relative difference below which everything is rounding."""
        return ROUNDING[self.x.dtype]

    @property
    def module(self) -> nn.Module:
        """The module inside, whose layers can be named."""
        return module_inside(self.start)

    def run(
        self, network: nn.Module, x: Float[Tensor, "N ..."], timestep: int
    ) -> Float[Tensor, "N ..."]:
        """What a network itself outputs for x at one timestep.

        A module that takes sigma or returns something other than noise is called through the scales
        of its convention. They are undone here for input and output, since they depend on the time
        even if the module does not.
        """
        t = torch.full((len(x),), timestep)
        buffers = network.named_buffers(recurse=False) if isinstance(network, Adapted) else ()
        tables = {name: float(table[timestep]) for name, table in buffers}
        x = x / tables.get("input_scale", 1.0)
        with explained(self.family.name, f"a call with {len(x)} samples"), torch.inference_mode():
            noise = network(x.clone(), t)
        return (noise - tables.get("constant", 0.0) * x) / tables.get("scale", 1.0)

    @cached_property
    def usual(self) -> Float[Tensor, "N ..."]:
        """What the moved network outputs for the Gaussian inputs in the middle of the schedule."""
        return self.run(self.moved, self.x, self.middle)

    @property
    def middle(self) -> int:
        """A timestep in the middle of the schedule."""
        return self.family.schedule.steps // 2


@dataclass(frozen=True)
class Examined(Patient):
    """A patient whose geometries are known.

    Attributes:
        zero: the geometry at x = 0, or the other one if the network outputs zero there.
        gaussian: the geometry at Gaussian inputs.
        looks: the most looks at the geometries; tests share their level between them.
        part: the part of all networks that has been evaluated, 1 at the last look.
    """

    zero: Geometry
    gaussian: Geometry
    looks: int = 1
    part: float = 1.0

    @property
    def last(self) -> bool:
        """Whether this is the last look, at which every check has to answer."""
        return self.part >= 1

    def settle(self, *intervals: tuple[float, float], limit: float) -> None:
        """Let a check continue only if its measurement lies clearly on one side of its limit.

        Raises:
            Undecided: if an interval contains the limit and more networks will follow.
        """
        if not self.last and any(low <= limit <= high for low, high in intervals):
            raise Undecided


def admit(family: ScoreFamily, seed: int = 0) -> Patient:
    """Build what the examination needs; layers that silence the output are redrawn first.

    Raises:
        NetworkError: if the family cannot be evaluated at all.
    """
    probe = Gaussian(1.0)
    x = torch.randn(INPUTS, *family.shape, generator=torch_stream(seed, "inputs of an examination"))
    as_made, silence = family, None
    first = family.member(seed).eval()
    middle = torch.tensor([family.schedule.steps // 2])
    if _is_silent(family, first, x, seed) or is_mute(first, x[:1], middle):
        silence = silence_of(first, x[:1], middle)
    if silence is not None:
        names = silence.layers or silence.zeros
        family = redrawn(family, names)
    family = check_family(family, probe, seed, "last").members.family
    # Made twice, since some modules cannot be copied.
    start, moved = (one.member(seed).eval() for one in (family, as_made))
    start.requires_grad_(False)
    start, moved, x = _in_double_precision(start, moved, x)
    with explained(family.name, "a first step of training"):  # some take one input at a time
        steps = take_steps(moved, x[:FEW], family.schedule, seed)
    stuck = zero_layers(module_inside(moved))
    move_on(moved, steps.moved or {n for n, _ in moved.named_parameters()}, seed)
    moved.requires_grad_(False)
    return Patient(family, silence, start, moved, steps, stuck, x)


def _in_double_precision(
    start: nn.Module, moved: nn.Module, x: Tensor
) -> tuple[nn.Module, nn.Module, Tensor]:
    """Networks and inputs in float64, or in float32 where modules fix their precision inside."""
    try:
        start, moved = (cast(network, torch.float64) for network in (start, moved))
        with torch.inference_mode():
            start(x[:1].double(), torch.zeros(1, dtype=torch.int64))
        return start, moved, x.double()
    except (RuntimeError, TypeError):
        start, moved = (cast(network, torch.float32) for network in (start, moved))
        return start, moved, x.float()


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


def relative(difference: Tensor, scale: Tensor) -> float:
    """The norm of a difference over the norm of a scale; 0 where both vanish."""
    size = float(scale.norm())
    return float(difference.norm()) / size if size else float(np.sign(float(difference.norm())))
