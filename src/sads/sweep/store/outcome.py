"""What passes between driver and workers, as JSON: a job there, an outcome back.

A finished result is also a file, with a checksum; see `sads.storage.sealed`.
"""

from datetime import datetime
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ...errors import ArtefactError
from ...storage.files import reason
from ...storage.sealed import expect, seal_json, sensible, unseal_json
from ..describe.trial import Trial

Kind = Literal["final", "passing", "disk", "setup"]
Distance = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class _Message(BaseModel):
    """What workers and drivers say to each other."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False
    )


class Job(_Message):
    """One trial for a worker.

    Attributes:
        id: the trial's identity; the worker checks it against the files that it sees.
        trial: as the specification has it.
        root: directory that its paths are seen from.
        out: directory of the sweep.
        code: version that the driver runs; a worker with another one refuses.
        device: where to compute.
        threads: torch threads.
        keep: `network` keeps the trained parameters, `samples` only losses and some samples.
        attempt: 1 for the first.
    """

    id: str
    trial: Trial
    root: Path
    out: Path
    code: str
    device: str = "cpu"
    threads: int = 1
    keep: Literal["network", "samples"] = "network"
    attempt: int = 1


class Metrics(_Message):
    """What was measured against held-out data; see `sads.distances.Distance`.

    `loss` is the mean over the last tenth of the training. `w2_direction` is for rank-one data.
    """

    sw2: Distance
    standard_error: Distance | None
    msw2: Distance
    msw2_optimised: Distance
    msw2_null: Distance
    p_value: float = Field(ge=0, le=1)
    projections: int = Field(ge=1)
    w2_direction: Distance | None
    loss: float = Field(ge=0)


class Timings(_Message):
    """Seconds spent on each part, over all attempts that the result builds on."""

    train_seconds: Seconds
    sample_seconds: Seconds
    distance_seconds: Seconds

    @property
    def seconds(self) -> float:
        return self.train_seconds + self.sample_seconds + self.distance_seconds


class Provenance(_Message):
    """Where and by what a result was computed."""

    host: str
    device: str
    threads: int = Field(ge=1)
    finished: str
    versions: dict[str, str]

    @field_validator("finished")
    @classmethod
    def _is_a_time(cls, finished: str) -> str:
        datetime.fromisoformat(finished)
        return finished


class TrialResult(_Message):
    """What came of a trial; `artefact` is the digest that names its safetensors file, if kept."""

    id: str
    trial: Trial
    metrics: Metrics
    timings: Timings
    provenance: Provenance
    code: str
    artefact: str | None = Field(pattern="^[0-9a-f]{64}$")
    attempt: int = Field(ge=1)

    def sealed(self) -> bytes:
        """The content of its file."""
        return seal_json(self.model_dump(mode="json"))


def read_result(path: Path) -> TrialResult:
    """The result in a file that is named by its trial.

    Raises:
        ArtefactError: if it is not there, damaged or of another trial.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ArtefactError(f"cannot read {path}: {reason(error)}") from error
    content = unseal_json(raw, path, unsealed=True)
    with sensible(path):
        result = TrialResult.model_validate(content)
        expect(result.id == path.stem, f"a result of the trial {path.stem}, got {result.id}")
    return result


class Failure(_Message):
    """What kept a trial from a result.

    Attributes:
        kind: `final` would happen again; `passing` is worth another attempt; `disk` is full, and
            `setup` is wrong for every trial, so that the sweep stops.
        error: in one line.
    """

    id: str
    kind: Kind
    error: str


class Outcome(_Message):
    """One of both."""

    result: TrialResult | None = None
    failure: Failure | None = None
