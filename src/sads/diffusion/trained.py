"""A trained network in memory: what `train` returns, and what a stored training is read into."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Float
from torch import Tensor, nn

from ..alignment import Rotation
from ..devices import usable_device
from ..errors import ArtefactError
from ..networks import ScoreFamily
from ..networks.adapters import Assumptions
from ..randomness import Random
from .checkpoint import read_training, stored_rotation, stored_schedule
from .compilation import compiled
from .sampling import CHUNK, OnStep, sample_chunks
from .settings import Settings
from .state import load_parameters


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network and how it came about.

    Attributes:
        family: the architecture, with the schedule that it was trained for.
        network: in eval mode, on the CPU.
        settings: the protocol.
        losses: one for each step.
        seconds: time spent training.
        assumptions: what the network is taken for.
        rotation: that the data went through before training; None for data as it is.
    """

    family: ScoreFamily
    network: nn.Module
    settings: Settings
    losses: Float[Tensor, " steps"]
    seconds: float
    assumptions: Assumptions
    rotation: Rotation | None = None

    def predict(self, x: Float[Tensor, "N ..."], t: Float[Tensor, " N"]) -> Float[Tensor, "N ..."]:
        """Predicted noise in the coordinates of the data, also after a rotated training."""
        if self.rotation is None:
            return self.network(x, t)
        return self.rotation.inverse(self.network(self.rotation(x), t))


def read_trained(directory: Path, family: ScoreFamily) -> Trained:
    """The training in a directory, of a network of the given family.

    Raises:
        ArtefactError: if there is none, or it is damaged or of another family.
    """
    header, tensors = read_training(directory)
    if (header.schedule, header.steps) != (family.schedule.kind, family.schedule.steps):
        raise ArtefactError(
            f"{directory} was trained with {stored_schedule(header)}, not {family.schedule}"
        )
    if family.fingerprint != header.fingerprint:
        raise ArtefactError(
            f"{directory} was trained with another version of {header.network}: train again"
        )
    member = family.member(0)
    load_parameters(member, tensors, directory)
    member = member.eval().requires_grad_(False)
    return Trained(
        family,
        member,
        header.settings,
        tensors["losses"].float(),
        header.seconds,
        family.assumptions(member),
        stored_rotation(directory),
    )


def samples_of(
    trained: Trained,
    count: int,
    *,
    steps: int = 1000,
    eta: float = 1.0,
    seed: Random = 0,
    chunk: int = CHUNK,
    first: int = 0,
    compile: bool = False,  # noqa: A002 - torch's name
    device: str = "cpu",
    on_step: OnStep | None = None,
) -> Iterator[Float[Tensor, "n ..."]]:
    """Samples of a trained network, a chunk at a time, returned from its rotation.

    Args:
        trained: the network.
        count: how many, any number.
        steps: timesteps visited; fewer than the schedule's are evenly respaced.
        eta: 1 for ancestral sampling, 0 for deterministic DDIM.
        seed: of all noise, or a generator that gives one.
        chunk: samples computed at once; it does not change them.
        first: leave out the samples before this one, which are known already.
        compile: use torch.compile.
        device: `cpu` or a CUDA device.
        on_step: called with steps done and steps in all.
    """
    family, rotation = trained.family, trained.rotation
    place = usable_device(device)
    network = trained.network
    if compile or place.type != "cpu":
        network = deepcopy(network).to(place)  # the caller's own stays as it is
    predict = family.housed(compiled(network) if compile else network)
    chunks = sample_chunks(
        predict,
        family.shape,
        count,
        family.schedule,
        steps=steps,
        eta=eta,
        seed=seed,
        chunk=chunk,
        first=first,
        device=device,
        on_step=on_step,
    )
    return chunks if rotation is None else (rotation.inverse(part) for part in chunks)
