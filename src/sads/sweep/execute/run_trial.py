"""One trial from its JSON to its result: train, sample, measure against held-out data, publish.

A worker may be killed at any moment. Training and sampling go on from their last checkpoints, bit
for bit, and everything is written inside the trial's own directory first, whose lock the worker
holds; a result appears under its final name when it is whole. A second worker on the same trial
(the first may have outlived its driver) waits for the lock and finds the result.
"""

import errno
import hashlib
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from safetensors.numpy import save
from threadpoolctl import threadpool_limits

from ...draws import DRAWS
from ...errors import ArtefactError, InputError, SadsError, brief
from ...storage.files import BusyError, atomic_write, write_bytes, writing
from ...storage.sealed import expect, read_sealed, sensible, write_sealed
from ...version import code_version
from ..describe.trial import Trial
from ..store.layout import Layout, publish
from ..store.outcome import (
    Failure,
    Job,
    Kind,
    Metrics,
    Outcome,
    Provenance,
    Timings,
    TrialResult,
    read_result,
)
from .trial_data import dataset, family_of

if TYPE_CHECKING:
    from torch import Tensor

    from ...diffusion import Trained

CHECKPOINT_SECONDS = 60.0
KEPT_SAMPLES = 256  # in the artefact: enough to look at
WAIT_SECONDS = 0.5  # between looks at the lock of another worker
SAMPLES = "samples.safetensors"
SAMPLES_FORMAT = "sads.samples/1"


class SetupError(SadsError):
    """A worker that could not run any trial of the sweep."""


def run_job(text: str) -> str:
    """The outcome of a job, both as JSON; never raises."""
    job = Job.model_validate_json(text)
    try:
        outcome = Outcome(result=_run(job))
    except Exception as error:
        outcome = Outcome(failure=Failure(id=job.id, kind=_kind(error), error=_say(error)))
    return outcome.model_dump_json()


def _kind(error: Exception) -> Kind:
    if disk_is_full(error):
        return "disk"
    if isinstance(error, SetupError):
        return "setup"
    return "final" if isinstance(error, SadsError) else "passing"


def _say(error: Exception) -> str:
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
        with suppress(ArtefactError):  # none yet, or a damaged one, which is replaced
            return read_result(layout.result(job.id))
        _begin(job, work)
        with limited_threads(job.threads):
            result = _computed(job, trial, work)
        publish(result.sealed(), work, layout.result(job.id))
        return result


def _begin(job: Job, work: Path) -> None:
    """Go on from checkpoints only if the same code made them, in the same way."""
    stamp, own = work / "made-by.txt", f"{job.code}, {job.device}, {job.threads} threads".encode()
    if stamp.is_file() and stamp.read_bytes() == own:
        return
    _start_again(work)
    atomic_write(stamp, write_bytes(own))


def _start_again(work: Path) -> None:
    shutil.rmtree(work / "training", ignore_errors=True)
    (work / SAMPLES).unlink(missing_ok=True)


@contextmanager
def limited_threads(count: int) -> Iterator[None]:
    """The same number of threads on every machine: the bits depend on it."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with threadpool_limits(count, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


def _computed(job: Job, trial: Trial, work: Path) -> TrialResult:
    try:
        return _compute(job, trial, work)
    except ArtefactError as error:
        if disk_is_full(error) or not (work / "training").exists():
            raise
        _start_again(work)  # the checkpoint is damaged
        return _compute(job, trial, work)


def _checked(job: Job, layout: Layout) -> Trial:
    """The trial with paths that hold here; this worker must see what the driver saw."""
    host = socket.gethostname()
    if job.code != code_version():
        raise SetupError(
            f"{host} runs version {code_version()} of the code, the sweep {job.code}: install the "
            "same version there"
        )
    if job.trial.draws != DRAWS:
        raise SetupError(
            f"{host} draws with version {DRAWS}, the trial {job.trial} with {job.trial.draws}: "
            "start a new sweep"
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
    """The lock of a trial's directory, waiting for whoever has it."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(writing(work))
                break
            except BusyError:
                time.sleep(WAIT_SECONDS)
        yield


def _compute(job: Job, trial: Trial, work: Path) -> TrialResult:
    from ...distances import measure_distance

    trained = _train(trial, work / "training", job.device)
    samples, sample_seconds = _sample(trial, trained, work, job.device)
    started = time.perf_counter()
    held_out = dataset(trial, trained.family.shape, "held-out", trial.protocol.samples)
    distance = measure_distance(
        samples,
        held_out.samples,
        y_direction=held_out.direction,
        projections=trial.protocol.projections,
        seed=trial.seed,
    )
    measured = distance.to_dict() | {"loss": _last_tenth(trained.losses.numpy())}
    timings = Timings(
        train_seconds=trained.seconds,
        sample_seconds=sample_seconds,
        distance_seconds=time.perf_counter() - started,
    )
    return TrialResult(
        id=job.id,
        trial=job.trial,
        metrics=Metrics.model_validate(measured),
        timings=timings,
        provenance=_provenance(job),
        code=code_version(),
        artefact=_publish_artefact(job, work, trained, samples),
        attempt=job.attempt,
    )


def _last_tenth(losses: Float[np.ndarray, " steps"]) -> float:
    return float(losses[-max(1, len(losses) // 10) :].mean())


def _train(trial: Trial, out: Path, device: str) -> "Trained":
    from ...alignment import rotation_for
    from ...diffusion import settings_for, train

    family, protocol = family_of(trial), trial.protocol
    data = dataset(trial, family.shape, "train", protocol.train)
    settings = settings_for(
        family,
        iterations=protocol.iterations,
        batch_size=protocol.batch_size,
        learning_rate=protocol.learning_rate,
        weight_decay=protocol.weight_decay,
        seed=trial.seed,
    )
    rotation = rotation_for(
        family, data, trial.rotation, geometry=trial.geometry, rank=trial.rank, seed=trial.seed
    )
    return train(family, data.samples, settings, rotation=rotation, out=out, device=device)


def _sample(
    trial: Trial, trained: "Trained", work: Path, device: str
) -> tuple[Float[np.ndarray, "N ..."], float]:
    """Samples of the trained network, and the seconds they took; known ones are not drawn again."""
    from ...diffusion import samples_of

    known, before = known_samples(work / SAMPLES, trained.family.shape, trial.protocol.samples)
    parts = [] if known is None else [known]
    chunks = samples_of(
        trained,
        trial.protocol.samples,
        steps=trial.protocol.steps,
        seed=trial.seed,
        first=0 if known is None else len(known),
        device=device,
    )
    started = stored = time.perf_counter()
    for chunk in chunks:
        parts.append(chunk.numpy())
        if time.perf_counter() - stored > CHECKPOINT_SECONDS:
            seconds = np.array(before + time.perf_counter() - started)
            tensors = {"samples": np.concatenate(parts), "seconds": seconds}
            write_sealed(work / SAMPLES, SAMPLES_FORMAT, {}, tensors)
            stored = time.perf_counter()
    return np.concatenate(parts), before + time.perf_counter() - started


def known_samples(
    path: Path, shape: tuple[int, ...], most: int
) -> tuple[Float[np.ndarray, "N ..."] | None, float]:
    """Samples that were stored before, and the seconds they took; None if there are none."""
    try:
        tensors = read_sealed(path, SAMPLES_FORMAT).tensors
        with sensible(path):
            samples, seconds = tensors["samples"], float(tensors["seconds"])
            expect(samples.shape[1:] == shape and len(samples) <= most, f"samples of {shape}")
            expect(samples.dtype == np.float32 and np.isfinite(samples).all(), "finite samples")
            expect(0 <= seconds < np.inf, "seconds from 0 on")
    except ArtefactError:  # none yet, or damaged
        return None, 0.0
    return samples, seconds


def _publish_artefact(job: Job, work: Path, trained: "Trained", samples: np.ndarray) -> str:
    """Losses, the first samples and, if wanted, the parameters, in a file named by its content."""
    tensors = {"losses": trained.losses.numpy(), "samples": samples[:KEPT_SAMPLES]}
    if job.keep == "network":
        state = trained.network.state_dict()
        tensors |= {f"network.{name}": _as_numpy(value) for name, value in state.items()}
    content = save({name: np.ascontiguousarray(value) for name, value in tensors.items()})
    digest = hashlib.sha256(content).hexdigest()
    publish(content, work, Layout(job.out).artefact(digest))
    return digest


def _as_numpy(value: "Tensor") -> np.ndarray:
    """The values of a tensor; NumPy has no bfloat16, which float32 contains."""
    try:
        return value.numpy()
    except TypeError:
        return value.float().numpy()


def _provenance(job: Job) -> Provenance:
    from ...geometry.plan import software_versions

    return Provenance(
        host=f"{socket.gethostname()}:{os.getpid()}",
        device=job.device,
        threads=job.threads,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=software_versions(),
    )
