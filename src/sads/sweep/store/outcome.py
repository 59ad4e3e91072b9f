"""The messages between driver and workers, as JSON: a job is sent, an outcome comes back.

A finished result is also a file, with a checksum; see `sads.storage.sealed`.
"""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from ...errors import ArtefactError
from ...storage.files import reason
from ...storage.sealed import expect, seal_json, sensible, unseal_json
from ..describe.trial import Trial

Kind = Literal["final", "passing", "disk", "setup"]
Size = Annotated[float, Field(ge=0)]


class _Message(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """A message between driver and workers."""


class Conditions(_Message, frozen=True):
    """How the trials of a sweep are run.

    Attributes:
        device: where to compute.
        threads: torch threads.
        keep: `network` keeps the trained parameters, `samples` only losses and some samples.
    """

    device: str = "cpu"
    threads: int = 1
    keep: Literal["network", "samples"] = "network"


class Job(Conditions, frozen=True):
    """One trial for a worker.

    Attributes:
        id: the trial's identity; the worker checks it against the files that it sees.
        trial: the trial as in the specification.
        root: the directory to which its paths are relative.
        out: directory of the sweep.
        code: version of the code that the driver runs; a worker with another one refuses.
        attempt: 1 for the first.
    """

    id: str
    trial: Trial
    root: Path
    out: Path
    code: str
    attempt: int = 1


class RiskNumbers(_Message, frozen=True):
    """The exact risk of a network, where the law of its data is known; see `sads.learning.risk`.

    `along` and `off` are None where the data spans the whole space. Errors are standard errors.
    """

    risk: Size | None = None
    risk_error: Size | None = None
    risk_along: Size | None = None
    risk_along_error: Size | None = None
    risk_off: Size | None = None
    risk_off_error: Size | None = None
    nats: Size | None = None
    nats_error: Size | None = None


class Moment(RiskNumbers, frozen=True):
    """The risk after some steps of training."""

    step: int = Field(ge=1)


class Metrics(RiskNumbers, frozen=True):
    """What was measured: distances to held-out data (`sads.distances.Distance`) and exact risk.

    Without samples there are no distances. `loss` is the mean over the last tenth of the training.
    `w2_direction` is for rank-one data. `leakage` is the root mean square of the part of samples
    outside the subspace of the data, where the law is known and does not fill the whole space.
    """

    sw2: Size | None
    standard_error: Size | None
    msw2: Size | None
    msw2_optimised: Size | None
    msw2_null: Size | None
    p_value: float | None = Field(ge=0, le=1)
    projections: int | None = Field(ge=1)
    w2_direction: Size | None
    loss: Size
    leakage: Size | None = None

    @model_validator(mode="after")
    def _distances_are_whole(self) -> "Metrics":
        sizes = (self.sw2, self.msw2, self.msw2_optimised, self.msw2_null, self.p_value)
        if len({value is None for value in (*sizes, self.projections)}) > 1:
            raise ValueError("some distances are missing: expected all of them or none")
        return self


class Timings(_Message, frozen=True):
    """Seconds spent on each part, over all attempts that the result builds on.

    Only the last attempt counts for the risk. Results older than this measurement have no time.
    """

    train_seconds: Size
    sample_seconds: Size
    distance_seconds: Size
    risk_seconds: Size | None = None

    @property
    def seconds(self) -> float:
        return sum(getattr(self, name) or 0.0 for name in type(self).model_fields)


class Provenance(_Message, frozen=True):
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


class TrialResult(_Message, frozen=True):
    """The result of a trial.

    Attributes:
        moments: the risk at each of the moments that its protocol names.
        artefact: the digest that names its safetensors file; None if that is not kept here.
    """

    id: str
    trial: Trial
    metrics: Metrics
    moments: tuple[Moment, ...] = ()
    timings: Timings
    provenance: Provenance
    code: str
    artefact: str | None = Field(pattern="^[0-9a-f]{64}$")
    attempt: int = Field(ge=1)

    def sealed(self) -> bytes:
        """The content of its file, with a checksum."""
        return seal_json(self.model_dump(mode="json"))


def read_result(path: Path) -> TrialResult:
    """The result in a file that is named by its trial.

    Raises:
        ArtefactError: if it is missing, damaged or belongs to another trial.
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


class Failure(_Message, frozen=True):
    """Why a trial has no result.

    Attributes:
        kind: `final` would happen again, `passing` is worth another attempt, `disk` means that the
            disk is full, and `setup` would fail every trial, so that the sweep stops.
        error: the message, in one line.
    """

    id: str
    kind: Kind
    error: str


class Outcome(_Message, frozen=True):
    """The answer of a worker: a result, or why there is none."""

    result: TrialResult | None = None
    failure: Failure | None = None
