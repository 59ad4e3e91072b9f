"""What passes between driver and workers, as JSON: a job there, an outcome back."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from .trial import Trial

Kind = Literal["final", "passing", "disk", "setup"]


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


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
    """What was measured against held-out data; see `sads.api.distance`.

    `loss` is the mean over the last tenth of the training. `w2_direction` is for rank-one data.
    """

    sw2: float
    standard_error: float | None
    msw2: float
    msw2_optimised: float
    msw2_null: float
    p_value: float
    projections: int
    w2_direction: float | None
    loss: float


class Timings(_Message):
    """Seconds spent on each part, over all attempts that the result builds on."""

    train_seconds: float
    sample_seconds: float
    distance_seconds: float

    @property
    def seconds(self) -> float:
        return self.train_seconds + self.sample_seconds + self.distance_seconds


class Provenance(_Message):
    """Where and by what a result was computed."""

    host: str
    device: str
    threads: int
    finished: str
    versions: dict[str, str]


class TrialResult(_Message):
    """What came of a trial; `artefact` is the digest that names its safetensors file, if kept."""

    id: str
    trial: Trial
    metrics: Metrics
    timings: Timings
    provenance: Provenance
    code: str
    artefact: str | None
    attempt: int


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
