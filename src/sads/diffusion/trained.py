"""A trained network in memory, from `train` or from a stored training."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from ..alignment import Rotation
from ..devices import usable_device
from ..errors import ArtefactError, InputError
from ..networks import ScoreFamily
from ..networks.adapters import Assumptions
from ..storage.files import writing
from .checkpoint import (
    FILE,
    Run,
    read_training,
    restored,
    store_rotation,
    stored_rotation,
    write_run,
)
from .header import Header, refuse_other
from .sampling import CHUNK, SamplingOptions, sample_chunks, threads_for
from .settings import Settings
from .training_state import check_storable


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network and how it was trained.

    Attributes:
        family: the architecture, with the schedule that it was trained for.
        network: in eval mode, on the CPU.
        run: the state in which training ended, with losses and protocol.
        optimiser: the optimiser after training, so that a stored training can continue.
        assumptions: what the network is taken for.
        rotation: the rotation of the data before training; None for unrotated data.

    >>> import sads
    >>> trained = sads.train("mlp", "digits,count=50", shape="1x8x8", iterations=2, batch_size=10)
    >>> sads.sample(trained, 4, steps=3).shape
    (4, 1, 8, 8)
    """

    family: ScoreFamily
    network: nn.Module
    run: Run
    optimiser: torch.optim.Optimizer
    assumptions: Assumptions
    rotation: Rotation | None = None

    @property
    def settings(self) -> Settings:
        """The protocol."""
        return self.run.settings

    @property
    def losses(self) -> Float[Tensor, " steps"]:
        """The loss at each step."""
        return torch.tensor(self.run.losses, dtype=torch.float32)

    @property
    def seconds(self) -> float:
        """The time spent training."""
        return self.run.seconds

    def predict(self, x: Float[Tensor, "N ..."], t: Shaped[Tensor, " N"]) -> Float[Tensor, "N ..."]:
        """Predicted noise in the coordinates of the data, also after a rotated training.

        Raises:
            InputError: after a training on whitened data, whose noise is different.
        """
        if self.rotation is None:
            return self.network(x, t)
        if not self.rotation.keeps_noise:
            raise InputError(
                "the network was trained on whitened data, whose noise is not that of the data: "
                "only its samples can be compared"
            )
        return self.rotation.inverse(self.network(self.rotation(x), t))

    def save(self, directory: str | Path) -> None:
        """Write the same files as `train`; a training can continue from the directory.

        Raises:
            NetworkError: if the network has state that our files cannot store.
            ArtefactError: if the directory holds another training, or cannot be written.
        """
        place = Path(directory)
        check_storable(self.network, self.family.name)
        with writing(place):
            if (place / FILE).exists():
                refuse_other(place, read_training(place)[0], self.run.header(self.family))
            if self.rotation is not None:
                store_rotation(place, self.rotation)
            write_run(place, self.family, self.network, self.optimiser, self.run)

    def __repr__(self) -> str:
        return f"Trained({self.family.name}, {self.run.step:,} steps)"


def adam(network: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """The optimiser of a protocol; AdamW without decay is Adam."""
    return torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )


def compiled(network: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    """The network under torch.compile, its kernels laid out channels last, which is faster."""
    return torch.compile(network.to(memory_format=torch.channels_last))  # pyright: ignore


def read_trained(
    directory: Path,
    family: ScoreFamily,
    stored: tuple[Header, dict[str, Tensor]] | None = None,
) -> Trained:
    """The training in a directory, of a network of the given family.

    Args:
        directory: the directory.
        family: what was trained.
        stored: the result of `read_training` for the directory, if it is known already.

    Raises:
        ArtefactError: if there is none, or it is damaged or of another family.
    """
    header, tensors = stored or read_training(directory)
    if header.path != family.schedule:
        raise ArtefactError(f"{directory} was trained with {header.path}, not {family.schedule}")
    if family.fingerprint != header.fingerprint:
        raise ArtefactError(
            f"{directory} was trained with another version of {header.network}: train again"
        )
    network = family.member(0)
    optimiser = adam(network, header.settings)
    run = restored(directory, header, tensors, network, optimiser)
    network = network.eval().requires_grad_(False)
    rotation = stored_rotation(directory, header)
    return Trained(family, network, run, optimiser, family.assumptions(network), rotation)


def samples_of(
    trained: Trained,
    count: int,
    *,
    compile: bool = False,  # noqa: A002 - torch's name
    device: str = "cpu",
    **options: Unpack[SamplingOptions],
) -> Iterator[Float[Tensor, "n ..."]]:
    """Samples of a trained network, a chunk at a time, returned from its rotation.

    Args:
        trained: the network.
        count: the number of samples.
        compile: use torch.compile.
        device: `cpu` or a CUDA device.
        options: the options of `sample_chunks`.
    """
    family, rotation = trained.family, trained.rotation
    place = usable_device(device)
    network = trained.network
    if compile or place.type != "cpu":
        network = deepcopy(network).to(place)  # the caller's network stays unchanged
    predict = family.housed(compiled(network) if compile else network)
    # Neither the compiler nor the imports of a file's neighbours may run in two threads.
    alone = compile or place.type != "cpu" or predict is not network
    chunks = sample_chunks(
        predict,
        family.shape,
        count,
        family.schedule,
        device=device,
        others=() if alone else _copies(network, threads_for(count, options.get("chunk", CHUNK))),
        **options,
    )
    return chunks if rotation is None else (rotation.inverse(part) for part in chunks)


def _copies(network: nn.Module, threads: int) -> tuple[nn.Module, ...]:
    """Copies of a network for all threads but the first; none if it cannot be copied.

    Every thread calls its own copy, since modules may keep state while they are called.
    """
    try:
        return tuple(deepcopy(network) for _ in range(threads - 1))
    except Exception:  # a module's own code may raise anything; then one thread does everything
        return ()
