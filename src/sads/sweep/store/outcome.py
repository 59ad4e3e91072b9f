"""The messages between driver and workers, as JSON: a job is sent, an outcome comes back.

A finished result is also a file, with a checksum; see `sads.storage.sealed`.
"""

import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from ...errors import ArtefactError
from ...storage.files import reason
from ...storage.sealed import expect, seal_json, sensible, unseal_json
from ..describe.trial import Trial
from .metrics import Message, Metrics, Moment, Size

Kind = Literal["final", "passing", "disk", "setup"]


class Conditions(Message, frozen=True):
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


class Timings(Message, frozen=True):
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


class Provenance(Message, frozen=True):
    """Where and by what a result was computed."""

    host: str
    device: str
    threads: int = Field(ge=1)
    finished: str
    versions: dict[str, str]

    @classmethod
    def of(cls, job: Job) -> "Provenance":
        """What is known of a job in this process, now."""
        from ...geometry.plan import software_versions

        return cls(
            host=f"{socket.gethostname()}:{os.getpid()}",
            device=job.device,
            threads=job.threads,
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=software_versions(),
        )

    @field_validator("finished")
    @classmethod
    def _is_a_time(cls, finished: str) -> str:
        datetime.fromisoformat(finished)
        return finished


class TrialResult(Message, frozen=True):
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


class Failure(Message, frozen=True):
    """Why a trial has no result.

    Attributes:
        kind: `final` would happen again, `passing` is worth another attempt, `disk` means that the
            disk is full, and `setup` would fail every trial, so that the sweep stops.
        error: the message, in one line.
    """

    id: str
    kind: Kind
    error: str


class Outcome(Message, frozen=True):
    """The answer of a worker: a result, or why there is none."""

    result: TrialResult | None = None
    failure: Failure | None = None
