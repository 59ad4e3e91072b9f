"""A training on disk: one safetensors file with everything that decides the next step.

Tensors: network and optimiser (see `state`), the generator's state, the order of the running
epoch, the losses. The header holds the protocol and the progress, and one checksum covers
everything (`sads.storage.sealed`). No pickle.
"""

from dataclasses import dataclass, field
from pathlib import Path

import torch
from jaxtyping import Int
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from ..alignment import Rotation, load_rotation
from ..draws import DRAWS
from ..errors import ArtefactError
from ..networks import ScoreFamily
from ..path import Schedule
from ..randomness import torch_stream
from ..storage.sealed import check_shape, expect, parse_json, read_sealed, sensible, write_sealed
from .settings import Settings
from .state import load_parameters, restore_optimiser, state_tensors

FILE = "training.safetensors"
FORMAT, UNSEALED = "sads.training/2", "sads.training/1"


class Header(BaseModel):
    """What a stored training says of itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    network: str
    fingerprint: str
    shape: tuple[int, ...]
    schedule: str
    steps: int
    settings: Settings
    data: str
    rotation: str | None = None
    step: int = Field(ge=0)
    cursor: int = Field(ge=0)
    seconds: float = Field(ge=0)
    draws: int = Field(default=1, ge=1)  # older than the field

    @property
    def unfinished(self) -> bool:
        """Whether fewer updates were made than planned."""
        return self.step < self.settings.iterations


@dataclass
class Run:
    """The state of a training, beside network and optimiser."""

    settings: Settings
    generator: torch.Generator
    order: Int[Tensor, " M"]
    fingerprint: str = ""
    data: str = ""
    rotation: str | None = None
    cursor: int = 0
    step: int = 0
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @classmethod
    def fresh(
        cls,
        settings: Settings,
        fingerprint: str = "",
        data: str = "",
        rotation: str | None = None,
    ) -> "Run":
        generator = torch_stream(settings.seed, "batches and noise of a training")
        order = torch.empty(0, dtype=torch.int64)
        return cls(settings, generator, order, fingerprint, data, rotation)


def write_run(
    directory: Path,
    family: ScoreFamily,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    run: Run,
) -> None:
    """Write atomically; on failure the old file stays."""
    tensors = state_tensors(network, optimiser, run.step)
    tensors |= {
        "generator": run.generator.get_state(),
        "order": run.order,
        "losses": torch.tensor(run.losses, dtype=torch.float64),
    }
    plain = _plain(tensors)
    header = Header(
        network=family.name,
        fingerprint=run.fingerprint,
        shape=family.shape,
        schedule=family.schedule.kind,
        steps=family.schedule.steps,
        settings=run.settings,
        data=run.data,
        rotation=run.rotation,
        step=run.step,
        cursor=run.cursor,
        seconds=run.seconds,
        draws=DRAWS,
    )
    metadata = {"header": header.model_dump_json()}
    write_sealed(directory / FILE, FORMAT, metadata, plain, framework="pt")


def _plain(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors as they are stored: on the CPU, and no two in the same memory (tied parameters)."""
    plain, taken = {}, set()
    for name, value in tensors.items():
        own = value.detach().cpu().contiguous()
        address = own.untyped_storage().data_ptr()
        plain[name] = own.clone() if address in taken else own
        taken.add(address)
    return plain


def read_run(
    directory: Path,
    family: ScoreFamily,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    fresh: Run,
) -> Run:
    """Load a stored training into network and optimiser, and return its state.

    Raises:
        ArtefactError: if the file is damaged, or of another network, protocol or dataset.
    """
    header, tensors = read_training(directory)
    _refuse_other(directory, header, family, fresh)
    load_parameters(network, tensors, directory)
    restore_optimiser(network, optimiser, tensors, header.step)
    fresh.generator.set_state(tensors["generator"])
    return Run(
        settings=fresh.settings,
        generator=fresh.generator,
        order=tensors["order"],
        fingerprint=fresh.fingerprint,
        data=fresh.data,
        rotation=fresh.rotation,
        cursor=header.cursor,
        step=header.step,
        losses=tensors["losses"].tolist(),
        seconds=header.seconds,
    )


def read_training(directory: Path) -> tuple[Header, dict[str, Tensor]]:
    """The verified content of a stored training."""
    path = directory / FILE
    if not path.is_file():
        raise ArtefactError(f"no training in {directory}: expected {FILE} (sads train makes one)")
    stored = read_sealed(path, FORMAT, unsealed=UNSEALED, framework="pt")
    with sensible(path):
        header = Header.model_validate(parse_json(stored.metadata["header"]))
        _check(header, stored.tensors)
    return header, stored.tensors


def _check(header: Header, tensors: dict[str, Tensor]) -> None:
    """Refuse what no training can have stored; inside `sensible`."""
    check_shape(header.shape)
    stored_schedule(header)
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


def stored_rotation(directory: Path) -> Rotation | None:
    """The rotation that the data of a training went through; None if there was none."""
    header, _ = read_training(directory)
    if header.rotation is None:
        return None
    found = load_rotation(directory)
    if found.digest != header.rotation:
        raise ArtefactError(f"{directory} holds another rotation than it was trained with")
    return found


def stored_schedule(header: Header) -> Schedule:
    """The noise schedule that a training was made for."""
    return Schedule(header.schedule, header.steps)


def _refuse_other(directory: Path, header: Header, family: ScoreFamily, fresh: Run) -> None:
    if header.draws != DRAWS and header.step < fresh.settings.iterations:
        raise ArtefactError(
            f"{directory} holds a training from version {header.draws} of the random draws, which "
            f"version {DRAWS} cannot continue: choose another directory or delete it"
        )
    own = {
        "network": family.name,
        "shape": family.shape,
        "fingerprint": fresh.fingerprint,
        "schedule": family.schedule.kind,
        "steps": family.schedule.steps,
        "data": fresh.data,
        "rotation": fresh.rotation,
    }
    # More iterations continue a training; every other change of the protocol is another one.
    own |= {k: v for k, v in fresh.settings.model_dump().items() if k != "iterations"}
    stored = header.model_dump() | header.settings.model_dump()
    different = [f"{k} was {stored[k]!r}, now {v!r}" for k, v in own.items() if stored[k] != v]
    if different:
        raise ArtefactError(
            f"{directory} holds another training ({'; '.join(different)}): choose another --out or "
            "delete the directory"
        )
    if header.step > fresh.settings.iterations:
        raise ArtefactError(
            f"{directory} is {header.step:,} steps far, past the {fresh.settings.iterations:,} "
            "asked for: choose another --out or more --iterations"
        )
