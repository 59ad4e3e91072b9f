"""A training on disk: one safetensors file with everything that decides the next step.

Its tensors are network and optimiser (see `training_state`), the generator's state, the order of
the current epoch and the losses. The header holds the protocol and the progress, and one checksum
covers everything (`sads.storage.sealed`). Nothing is pickled.
"""

from dataclasses import dataclass, field
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor, nn

from ..alignment import ROTATION_FILE, Rotation, load_rotation, write_rotation
from ..errors import ArtefactError
from ..foundation.versions import DRAWS
from ..networks import ScoreFamily
from ..randomness import torch_stream
from ..storage.files import atomic_write, write_bytes
from ..storage.sealed import check_shape, expect, parse_json, read_sealed, sensible, write_sealed
from .header import Header
from .settings import Settings
from .training_state import load_parameters, restore_optimiser, state_tensors

FILE = "training.safetensors"
LOSSES = "loss.csv"
FORMAT, UNSEALED = "sads.training/2", "sads.training/1"


@dataclass
class Run:
    """The state of a training, beside network and optimiser.

    Attributes:
        settings: the protocol.
        generator: the generator of batches and noise.
        order: the order of the samples in the current epoch.
        data: digest of the training data.
        rotation: digest of the rotation that the data goes through.
        cursor: the number of samples of the current epoch that have been used.
        step: the number of updates so far.
        losses: one for each update.
        seconds: the time spent.
        draws: version of the random draws.
        target: the quantity that the loss compares.
    """

    settings: Settings
    generator: torch.Generator
    order: Int[Tensor, " M"]
    data: str
    rotation: str | None
    cursor: int = 0
    step: int = 0
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    draws: int = DRAWS
    target: str = "eps"

    @classmethod
    def fresh(
        cls, settings: Settings, data: str = "", rotation: str | None = None, target: str = "eps"
    ) -> "Run":
        """The state before the first update."""
        generator = torch_stream(settings.seed, "batches and noise of a training")
        order = torch.empty(0, dtype=torch.int64)
        return cls(settings, generator, order, data, rotation, target=target)

    def header(self, family: ScoreFamily) -> Header:
        """The header of this state for a training of a family."""
        return Header(
            network=family.name,
            fingerprint=family.fingerprint,
            shape=family.shape,
            schedule=family.schedule.kind,
            steps=family.schedule.steps,
            settings=self.settings,
            data=self.data,
            rotation=self.rotation,
            step=self.step,
            cursor=self.cursor,
            seconds=self.seconds,
            draws=self.draws,
            parameters=dict(family.schedule.parameters),
            target=self.target,
        )


def write_run(
    directory: Path,
    family: ScoreFamily,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    run: Run,
) -> None:
    """Write the checkpoint and the table of losses atomically; on failure the old ones stay."""
    tensors = state_tensors(network, optimiser, run.step)
    tensors |= {
        "generator": run.generator.get_state(),
        "order": run.order,
        "losses": torch.tensor(run.losses, dtype=torch.float64),
    }
    metadata = {"header": run.header(family).model_dump_json()}
    write_sealed(directory / FILE, FORMAT, metadata, _plain(tensors), framework="pt")
    rows = "".join(f"{i},{loss!r}\n" for i, loss in enumerate(run.losses, start=1))
    atomic_write(directory / LOSSES, write_bytes(f"step,loss\n{rows}".encode()))


def _plain(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors as they are stored: on the CPU, and no two in the same memory (tied parameters)."""
    plain, taken = {}, set()
    for name, value in tensors.items():
        own = value.detach().cpu().contiguous()
        address = own.untyped_storage().data_ptr()
        plain[name] = own.clone() if address in taken else own
        taken.add(address)
    return plain


def restored(
    directory: Path,
    header: Header,
    tensors: dict[str, Tensor],
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
) -> Run:
    """Load a stored training into network and optimiser, and return the rest of its state.

    Raises:
        ArtefactError: if the parameters belong to another network.
    """
    load_parameters(network, tensors, directory)
    restore_optimiser(network, optimiser, tensors, header.step)
    generator = torch.Generator()
    generator.set_state(tensors["generator"])
    return Run(
        settings=header.settings,
        generator=generator,
        order=tensors["order"],
        data=header.data,
        rotation=header.rotation,
        cursor=header.cursor,
        step=header.step,
        losses=tensors["losses"].tolist(),
        seconds=header.seconds,
        draws=header.draws,
        target=header.target,
    )


def read_training(directory: Path) -> tuple[Header, dict[str, Tensor]]:
    """The verified content of a stored training.

    Raises:
        ArtefactError: if there is none, or it is damaged.
    """
    path = directory / FILE
    if not path.is_file():
        raise ArtefactError(f"no training in {directory}: expected {FILE} (sads train makes one)")
    stored = read_sealed(path, FORMAT, unsealed=UNSEALED, framework="pt")
    with sensible(path):
        header = Header.model_validate(parse_json(stored.metadata["header"]))
        _check(header, stored.tensors)
    return header, stored.tensors


def _check(header: Header, tensors: dict[str, Tensor]) -> None:
    """Refuse content that no training can have stored; call it inside `sensible`."""
    check_shape(header.shape)
    _ = header.path  # refuses unknown schedules
    losses, order = tensors["losses"], tensors["order"]
    expect(losses.shape == (header.step,), f"{header.step} losses, one for each step")
    expect(bool(losses.isfinite().all()), "finite losses")
    expect(order.ndim == 1 and order.dtype == torch.int64, "the order of an epoch")
    expect(torch.equal(order.sort().values, torch.arange(len(order))), "each sample once an epoch")
    expect(header.cursor <= len(order), f"a place within the epoch of {len(order)} samples")
    for name, moment in tensors.items():
        if name.startswith(("exp_avg.", "exp_avg_sq.")):
            parameter = tensors.get(f"network.{name.partition('.')[2]}", moment)
            expect(moment.shape == parameter.shape, f"{name} of the parameter's shape")


def store_rotation(directory: Path, rotation: Rotation) -> None:
    """Store the rotation beside the training; a different one that is already there is kept."""
    foreign = (directory / ROTATION_FILE).exists() and not (directory / FILE).exists()
    if foreign and load_rotation(directory).digest != rotation.digest:
        raise ArtefactError(
            f"{directory} holds another rotation than this training's: choose another place, or "
            f"delete {ROTATION_FILE} there"
        )
    write_rotation(directory, rotation)


def stored_rotation(directory: Path, header: Header) -> Rotation | None:
    """The rotation that the data of a training went through; None if there was none.

    Args:
        directory: where the training is.
        header: the header from `read_training`.

    Raises:
        ArtefactError: if the rotation is not the one that it was trained with.
    """
    if header.rotation is None:
        return None
    rotation = load_rotation(directory)
    if rotation.digest != header.rotation:
        raise ArtefactError(f"{directory} holds another rotation than it was trained with")
    return rotation
