"""One job of a worker: a trial from its JSON to its published result.

A worker may be killed at any moment. A trial resumes from its last checkpoints, bit for bit.
Everything is first written inside the trial's own directory, whose lock the worker holds, and a
result gets its final name only when it is complete. A second worker on the same trial (the first
may have outlived its driver) waits for the lock and finds the result.
"""

import errno
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from ...errors import ArtefactError, InputError, SadsError, brief
from ...execution.threads import limited_threads
from ...foundation.versions import DRAWS, code_version
from ...storage.files import BusyError, atomic_write, write_bytes, writing
from ..describe.trial import Trial
from ..store.layout import Layout, publish
from ..store.outcome import Failure, Job, Kind, Outcome, Provenance, TrialResult, read_result
from .run_trial import run_trial, start_again

WAIT_SECONDS = 0.5  # between two tries of a lock that another worker holds


class SetupError(SadsError):
    """A worker that could not run any trial of the sweep."""


def run_job(text: str) -> str:
    """The outcome of a job, both as JSON; never raises."""
    job = Job.model_validate_json(text)
    try:
        outcome = Outcome(result=_run(job))
    except Exception as error:
        outcome = Outcome(failure=Failure(id=job.id, kind=_kind(error), error=_message(error)))
    return outcome.model_dump_json()


def _kind(error: Exception) -> Kind:
    if disk_is_full(error):
        return "disk"
    if isinstance(error, SetupError):
        return "setup"
    return "final" if isinstance(error, SadsError) else "passing"


def _message(error: Exception) -> str:
    return " ".join(str(error).split()) if isinstance(error, SadsError) else brief(error)


def disk_is_full(error: BaseException | None) -> bool:
    """Whether an error comes from a file that could not grow."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return True
        error = error.__cause__
    return False


def _run(job: Job) -> TrialResult:
    layout = Layout(job.out)
    trial = _checked(job, layout)
    work = layout.work(job.id)
    with _held(work):
        with suppress(ArtefactError):  # no result yet, or a damaged one, which is replaced
            return read_result(layout.result(job.id))
        _begin(job, work)
        with limited_threads(job.threads):
            result = _computed(job, trial, work)
        publish(result.sealed(), work, layout.result(job.id))
        return result


def _begin(job: Job, work: Path) -> None:
    """Keep checkpoints only if the same code made them, under the same conditions."""
    stamp, own = work / "made-by.txt", f"{job.code}, {job.device}, {job.threads} threads".encode()
    if stamp.is_file() and stamp.read_bytes() == own:
        return
    start_again(work)
    atomic_write(stamp, write_bytes(own))


def _computed(job: Job, trial: Trial, work: Path) -> TrialResult:
    artefacts = Layout(job.out)
    keep_network = job.keep == "network"
    try:
        measured = run_trial(trial, work, artefacts, device=job.device, keep_network=keep_network)
    except ArtefactError as error:
        if disk_is_full(error) or not (work / "training").exists():
            raise
        start_again(work)  # the checkpoint is damaged
        measured = run_trial(trial, work, artefacts, device=job.device, keep_network=keep_network)
    return TrialResult(
        id=job.id,
        trial=job.trial,
        metrics=measured.metrics,
        moments=measured.moments,
        timings=measured.timings,
        provenance=_provenance(job),
        code=code_version(),
        artefact=measured.artefact,
        attempt=job.attempt,
    )


def _checked(job: Job, layout: Layout) -> Trial:
    """The trial with paths for this worker, which must see the files that the driver saw."""
    host = socket.gethostname()
    if job.code != code_version():
        raise SetupError(
            f"{host} runs version {code_version()} of the code, the sweep {job.code}: install the "
            "same version there"
        )
    if job.trial.draws != DRAWS:
        raise SetupError(
            f"{host} uses version {DRAWS} of the random draws, the trial {job.trial} uses version "
            f"{job.trial.draws}: start a new sweep"
        )
    if not layout.database.is_file():
        raise SetupError(
            f"{host} does not see {job.out}: a sweep on several machines needs a directory that "
            "all of them share"
        )
    if job.device != "cpu":
        _check_device(job.device, host)
    trial = job.trial.seen_from(job.root)
    if trial.identity() != job.id:
        raise SetupError(
            f"a file of the trial {job.trial} has changed since the sweep began: put it back, or "
            "start a new sweep"
        )
    return trial


def _check_device(device: str, host: str) -> None:
    from ...devices import usable_device

    try:
        usable_device(device)
    except InputError as error:
        raise SetupError(f"{host}: {error}") from error


@contextmanager
def _held(work: Path) -> Iterator[None]:
    """Hold the lock of a trial's directory, after waiting until it is free."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(writing(work))
                break
            except BusyError:
                time.sleep(WAIT_SECONDS)
        yield


def _provenance(job: Job) -> Provenance:
    from ...geometry.plan import software_versions

    return Provenance(
        host=f"{socket.gethostname()}:{os.getpid()}",
        device=job.device,
        threads=job.threads,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=software_versions(),
    )
