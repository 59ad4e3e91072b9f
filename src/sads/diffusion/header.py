"""The header of a stored training, and whether two trainings are the same."""

from pathlib import Path

from pydantic import BaseModel, Field

from ..errors import ArtefactError
from ..foundation.versions import DRAWS
from ..path import DiffusionPath, path_of
from .settings import Settings


class Header(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """The header of a stored training.

    Attributes:
        network: name of the family.
        fingerprint: the fingerprint of the family.
        shape: shape of one sample.
        schedule: kind of the path from data to noise.
        steps: its noise levels.
        settings: the protocol.
        data: digest of the training data, before any rotation.
        rotation: digest of the rotation that the data went through.
        step: the number of updates so far.
        cursor: the number of samples of the current epoch that have been used.
        seconds: the time spent training.
        draws: version of the random draws.
        parameters: the parameters of the path, where they are not at their defaults.
        target: the quantity that the loss compares; noise in older files.
    """

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
    draws: int = Field(default=1, ge=1)  # files from before this field
    parameters: dict[str, float] = Field(default_factory=dict)
    target: str = "eps"

    @property
    def unfinished(self) -> bool:
        """Whether fewer updates than planned were made."""
        return self.step < self.settings.iterations

    @property
    def path(self) -> DiffusionPath:
        """The path from data to noise that it was made for."""
        return path_of(self.schedule, self.steps, self.parameters)

    def identity(self) -> dict[str, object]:
        """The fields that identify a training; more iterations only continue it."""
        names = ("network", "shape", "fingerprint", "schedule", "steps", "data", "rotation")
        names += ("parameters", "target")
        protocol = self.settings.model_dump(exclude={"iterations"})
        return {name: getattr(self, name) for name in names} | protocol


def refuse_other(directory: Path, stored: Header, own: Header) -> None:
    """Refuse a directory with another training, or one that is already past the planned end.

    Raises:
        ArtefactError: with all differences.
    """
    planned = own.settings.iterations
    if stored.draws != DRAWS and stored.step < planned:
        raise ArtefactError(
            f"{directory} holds a training from version {stored.draws} of the random draws, which "
            f"version {DRAWS} cannot continue: choose another directory or delete it"
        )
    before, now = stored.identity(), own.identity()
    different = [f"{k} was {before[k]!r}, now {v!r}" for k, v in now.items() if before[k] != v]
    if different:
        raise ArtefactError(
            f"{directory} holds another training ({'; '.join(different)}): choose another "
            "directory or delete it"
        )
    if stored.step > planned:
        raise ArtefactError(
            f"{directory} has {stored.step:,} steps, more than the {planned:,} asked for: choose "
            "another directory or more iterations"
        )
