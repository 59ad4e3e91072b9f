"""What a trial does: train, sample, and measure against held-out data and the optimum.

Training and sampling resume from their last checkpoints in the trial's own directory, bit for bit.
"""

import hashlib
import shutil
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from safetensors.numpy import save

from ...errors import ArtefactError
from ...storage.sealed import expect, read_sealed, sensible, write_sealed
from ..describe.trial import Trial
from ..store.layout import Layout, publish
from ..store.outcome import Metrics, Moment, Timings
from .trial_data import dataset, family_of
from .trial_risk import KeptMoments, risk_numbers

if TYPE_CHECKING:
    from torch import Tensor

    from ...data import Dataset
    from ...diffusion import Trained
    from ...networks import ScoreFamily

CHECKPOINT_SECONDS = 60.0
KEPT_SAMPLES = 256  # samples in the artefact: enough to look at
TRAINING, SAMPLES, MOMENTS = "training", "samples.safetensors", "moments.json"
SAMPLES_FORMAT = "sads.samples/1"


@dataclass(frozen=True)
class Measured:
    """What a trial measured; `artefact` is the digest of the file with tensors and samples."""

    metrics: Metrics
    moments: tuple[Moment, ...]
    timings: Timings
    artefact: str


def start_again(work: Path) -> None:
    """Delete what has been computed for a trial so far."""
    shutil.rmtree(work / TRAINING, ignore_errors=True)
    for name in (SAMPLES, MOMENTS):
        (work / name).unlink(missing_ok=True)


def run_trial(
    trial: Trial, work: Path, layout: Layout, *, device: str, keep_network: bool
) -> Measured:
    """Compute a trial, starting from its last checkpoints if there are any.

    Args:
        trial: the trial, with paths that exist on this machine.
        work: its own directory.
        layout: the layout of the sweep, which says where the artefact goes.
        device: where to compute.
        keep_network: whether the artefact has the trained parameters.
    """
    family = family_of(trial)
    data = dataset(trial, family.shape, "train", trial.protocol.train)
    trained, moments, at_moments = _train(trial, family, data, work, device)
    started = time.perf_counter()
    risk = risk_numbers(trained, data.law, trial.seed)
    risk_seconds = at_moments + time.perf_counter() - started
    samples, sample_seconds = _sample(trial, trained, work, device)
    started = time.perf_counter()
    distances = _distances(trial, samples)
    timings = Timings(
        train_seconds=trained.seconds,
        sample_seconds=sample_seconds,
        distance_seconds=time.perf_counter() - started,
        risk_seconds=risk_seconds,
    )
    losses = trained.losses.numpy()
    loss = float(losses[-max(1, len(losses) // 10) :].mean())
    metrics = Metrics.model_validate(distances | risk.model_dump() | {"loss": loss})
    tensors = {"losses": losses, "samples": samples[:KEPT_SAMPLES]}
    if keep_network:
        state = trained.network.state_dict()
        tensors |= {f"network.{name}": _as_numpy(value) for name, value in state.items()}
    return Measured(metrics, moments, timings, _published(tensors, work, layout))


def _train(
    trial: Trial, family: "ScoreFamily", data: "Dataset", work: Path, device: str
) -> "tuple[Trained, tuple[Moment, ...], float]":
    """The trained network, the risk at each moment, and the seconds that these risks took."""
    from ...diffusion import settings_for, train
    from ...specs.rotations import rotation_for

    protocol = trial.protocol
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

    def trained_until(step: int) -> "Trained":
        until = settings.model_copy(update={"iterations": step})
        place = work / TRAINING
        return train(family, data.samples, until, rotation=rotation, out=place, device=device)

    kept, seconds = KeptMoments(work / MOMENTS), 0.0
    for step in protocol.moments:
        if step not in kept:
            network = trained_until(step)
            started = time.perf_counter()
            kept.add(step, risk_numbers(network, data.law, trial.seed))
            seconds += time.perf_counter() - started
    return trained_until(settings.iterations), kept.all, seconds


def _distances(trial: Trial, samples: Float[np.ndarray, "N ..."]) -> dict[str, float | int | None]:
    """Distances to held-out data; all are None if there are no samples."""
    from ...distances import Distance, leakage, measure_distance

    if not len(samples):
        return dict.fromkeys(field.name for field in fields(Distance))
    held_out = dataset(trial, samples.shape[1:], "held-out", trial.protocol.samples)
    distance = measure_distance(
        samples,
        held_out.samples,
        y_direction=held_out.direction,
        projections=trial.protocol.projections,
        seed=trial.seed,
    )
    support = None if held_out.law is None else held_out.law.support
    leak = None if support is None else leakage(samples, support)
    return distance.to_dict() | {"leakage": leak}


def _sample(
    trial: Trial, trained: "Trained", work: Path, device: str
) -> tuple[Float[np.ndarray, "N ..."], float]:
    """Samples of the trained network, resumed from those stored, and the seconds they took."""
    from ...diffusion import samples_of

    if not trial.protocol.samples:
        return np.empty((0, *trained.family.shape), np.float32), 0.0
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
    """Samples stored by an earlier attempt, and the seconds they took; None if there are none."""
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


def _published(tensors: dict[str, np.ndarray], work: Path, layout: Layout) -> str:
    """Losses, the first samples and, if wanted, the parameters, in a file named by its content."""
    content = save({name: np.ascontiguousarray(value) for name, value in tensors.items()})
    digest = hashlib.sha256(content).hexdigest()
    publish(content, work, layout.artefact(digest))
    return digest


def _as_numpy(value: "Tensor") -> np.ndarray:
    """The values of a tensor; NumPy has no bfloat16, which float32 contains."""
    try:
        return value.numpy()
    except TypeError:
        return value.float().numpy()
