"""What a stored training says of itself, and whether two of them are the same one."""

from pathlib import Path

from pydantic import BaseModel, Field

from ..errors import ArtefactError
from ..foundation.versions import DRAWS
from ..path import DiffusionPath, path_of
from .settings import Settings


class Header(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """What a stored training says of itself.

    Attributes:
        network: name of the family.
        fingerprint: of the family.
        shape: shape of one sample.
        schedule: kind of the path from data to noise.
        steps: its noise levels.
        settings: the protocol.
        data: digest of the training data, before any rotation.
        rotation: digest of the rotation that the data went through.
        step: updates so far.
        cursor: samples of the running epoch that have been used.
        seconds: time spent training.
        draws: version of the random draws.
        parameters: of the path, where they are not at their defaults.
        target: what the loss is of; noise in files that do not say it.
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
    draws: int = Field(default=1, ge=1)  # older than the field
    parameters: dict[str, float] = Field(default_factory=dict)
    target: str = "eps"

    @property
    def unfinished(self) -> bool:
        """Whether fewer updates were made than planned."""
        return self.step < self.settings.iterations

    @property
    def path(self) -> DiffusionPath:
        """The path from data to noise that it was made for."""
        return path_of(self.schedule, self.steps, self.parameters)

    def identity(self) -> dict[str, object]:
        """What tells one training from another; more iterations only continue it."""
        names = ("network", "shape", "fingerprint", "schedule", "steps", "data", "rotation")
        names += ("parameters", "target")
        protocol = self.settings.model_dump(exclude={"iterations"})
        return {name: getattr(self, name) for name in names} | protocol


def refuse_other(directory: Path, stored: Header, own: Header) -> None:
    """Refuse a directory whose training is another one, or further than this one will go.

    Raises:
        ArtefactError: with all that differs.
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
            f"{directory} is {stored.step:,} steps far, past the {planned:,} asked for: choose "
            "another directory or more iterations"
        )
