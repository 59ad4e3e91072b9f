"""A trial: one training of one network on one dataset, sampled and measured.

Its identity is the digest of its canonical JSON, in which the content of every file replaces its
path. Everything random comes from its seed, so that trials of one seed are paired: they share
initialisation, batches and noise across directions and rotations.
"""

import hashlib
import json
from pathlib import Path

from pydantic import BaseModel, Field, field_validator, model_validator

from ...foundation.versions import DRAWS
from ...specs import DataSpec, NetworkSpec
from ...specs.data import SELECTION
from ...specs.digests import geometry_digest, path_digest
from .protocol import Protocol

FORMAT = "sads.trial/1"
#: Networks with these predictions were once trained on noise; `target` marks trials of today.
OWN_TARGETS = ("v", "x0")
ROTATIONS = ("identity", "random", "min", "max", "whiten")


class Trial(BaseModel, frozen=True, extra="forbid"):
    """What is run.

    Attributes:
        network: what is trained.
        data: what it is trained on, without `count`, `seed` and `split`, which belong to the
            protocol and to the seed.
        shape: shape of one sample, CxHxW; None for that of the preset.
        rotation: of the data: `identity`, `random`, `min`, `max`, `whiten` or a directory.
        geometry: directory of the geometry that `min` and `max` refer to.
        rank: how many leading data directions the rotation moves; None for all.
        protocol: how it is trained, sampled and measured.
        seed: the seed of the initialisation, the data and all noise.
        draws: version of the random draws; trials that do not name it have the first.

    >>> import sads
    >>> protocol = sads.Protocol(iterations=500)
    >>> trial = sads.Trial(network="iddpm-16", data="rank-one:dct:3", protocol=protocol, seed=0)
    >>> len(trial.identity())
    16
    """

    network: NetworkSpec
    data: DataSpec
    shape: str | None = None
    rotation: str = "identity"
    geometry: str | None = None
    rank: int | None = Field(default=None, ge=1)
    protocol: Protocol
    seed: int = Field(ge=0, lt=2**63)
    draws: int = Field(default=1, ge=1, le=DRAWS)

    @field_validator("data")
    @classmethod
    def _decided_elsewhere(cls, data: DataSpec) -> DataSpec:
        for name in SELECTION:
            if name in data.fields:
                raise ValueError(
                    f"{name} is not given with the data of a sweep: the protocol and the seeds "
                    "decide it"
                )
        return data

    @model_validator(mode="after")
    def _rotation_is_whole(self) -> "Trial":
        if self.rotation in ("min", "max") and self.geometry is None:
            raise ValueError(f"the rotation {self.rotation} needs a geometry")
        return self

    def identity(self) -> str:
        """The digest that identifies the trial.

        Raises:
            InputError: if a file that it names does not exist.
        """
        fields = self.model_dump(mode="json") | {"protocol": self.protocol.identity_fields()}
        if self.draws == 1:
            del fields["draws"]
        if (prediction := self.network.fields.get("prediction")) in OWN_TARGETS:
            fields["target"] = prediction
        fields |= {"network": self.network.digest(), "data": self.data.digest()}
        if self.rotation_directory is not None:
            fields["rotation"] = path_digest(self.rotation_directory)
        if self.geometry is not None:
            fields["geometry"] = geometry_digest(self.geometry)
        text = json.dumps([FORMAT, fields], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def seen_from(self, root: Path) -> "Trial":
        """The same trial with absolute paths."""
        seen: dict[str, object] = {
            "network": self.network.seen_from(root),
            "data": self.data.seen_from(root),
        }
        if self.rotation_directory is not None:
            seen["rotation"] = str(root / self.rotation_directory)
        if self.geometry is not None:
            seen["geometry"] = str(root / self.geometry)
        return self.model_copy(update=seen)

    @property
    def rotation_directory(self) -> Path | None:
        """Where the rotation is stored; None for one that is made for the trial."""
        return None if self.rotation in ROTATIONS else Path(self.rotation)

    def paths(self) -> tuple[Path, ...]:
        """The files and directories that the trial names."""
        named = [self.rotation_directory, self.geometry and Path(self.geometry)]
        return (*self.network.paths(), *self.data.paths(), *(path for path in named if path))

    @property
    def kind(self) -> tuple[NetworkSpec, str | None, Protocol]:
        """Trials of one kind take about the same time."""
        return self.network, self.shape, self.protocol

    def __str__(self) -> str:
        """The trial in a few words, for tables."""
        return in_words(str(self.network), str(self.data), self.rotation, self.rank, self.seed)


def in_words(network: str, data: str, rotation: str, rank: int | None, seed: int) -> str:
    """A trial in a few words.

    >>> in_words("mlp", "digits", "min", 16, 0)
    'mlp on digits, rotation min (rank 16), seed 0'
    """
    moved = "" if rank is None else f" (rank {rank})"
    turned = "" if rotation == "identity" else f", rotation {rotation}{moved}"
    return f"{network} on {data}{turned}, seed {seed}"
