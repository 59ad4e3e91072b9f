"""Denoising score matching: plain mean squared error, t uniform (equation 2).

The error is that of the network's own prediction: noise, velocity, clean sample or score.

The optimiser is Adam with gradients clipped to a norm of 1 and no average of the weights. Every
sample is seen once per epoch, in a new order each time. Batches continue across epochs, so all have
the same size.

Everything that decides the next step (parameters, Adam's moments, generator, order of the epoch)
is in the checkpoint. A run that was killed continues bit for bit at the same thread count.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..alignment import Rotation
from ..devices import usable_device
from ..errors import InputError, NetworkError, SadsError, brief
from ..networks import ScoreFamily
from ..networks.adapters import own_output, own_prediction
from ..networks.isolation import OwnDraws
from ..storage.files import checksum, writing
from .checkpoint import FILE, Run, read_training, restored, store_rotation, write_run
from .header import refuse_other
from .noising import Noising
from .settings import Settings
from .trained import Trained, adam, compiled
from .training_state import check_storable, check_trainable

LOG = logging.getLogger(__name__)
CHECKPOINT_SECONDS = 60.0
FIRST_SECONDS = 2.0  # until the first checkpoint; the pauses double up to CHECKPOINT_SECONDS


class TrainingError(SadsError):
    """Raised when a training cannot continue; the last good checkpoint is kept."""


@dataclass(frozen=True)
class Step:
    """One step of training, as callbacks see it: the `number`-th of `iterations`."""

    number: int
    iterations: int
    loss: float
    seconds: float


Callback = Callable[[Step], None]


def train(
    family: ScoreFamily,
    samples: Float[Tensor | np.ndarray, "M ..."],
    settings: Settings,
    *,
    rotation: Rotation | None = None,
    out: str | Path | None = None,
    callbacks: tuple[Callback, ...] = (),
    device: str = "cpu",
) -> Trained:
    """Train a fresh network of a family on samples.

    Args:
        family: the network, with its path from data to noise.
        samples: training data, shape (M, *family.shape), float32.
        settings: the protocol; its seed decides the initialisation and all draws.
        rotation: applied to the samples; it is stored in `out`, so that sampling can invert it.
        out: directory for checkpoints and the result; an unfinished run is continued.
        callbacks: called after each step, for example loggers for TensorBoard or W&B.
        device: `cpu` or a CUDA device.

    Raises:
        InputError: if the samples do not fit the network.
        NetworkError: if the network cannot be trained or stored, or fails when it is called.
        TrainingError: if the loss is not finite; the last good checkpoint stays in `out`.
        ArtefactError: if `out` holds another training.
    """
    samples = _checked(family, torch.as_tensor(np.ascontiguousarray(samples), dtype=torch.float32))
    place, directory = usable_device(device), None if out is None else Path(out)
    with nullcontext() if directory is None else writing(directory):
        training = _Training(family, samples, settings, rotation, directory, place)
        return training.finished(callbacks)


def _checked(family: ScoreFamily, samples: Tensor) -> Tensor:
    if tuple(samples.shape[1:]) != family.shape:
        got, expected = ("x".join(map(str, s)) for s in (samples.shape[1:], family.shape))
        raise InputError(
            f"{family.name} takes samples of shape {expected}, the data have {got}: resize the "
            "data or choose another shape"
        )
    if not len(samples):
        raise InputError("there is nothing to train on: the dataset is empty")
    if not bool(torch.isfinite(samples).all()):
        raise InputError("the training data have NaN or infinite values: clean them first")
    return samples


class _Training:
    """A running training: a network, its optimiser and everything that decides the next step."""

    def __init__(
        self,
        family: ScoreFamily,
        samples: Tensor,
        settings: Settings,
        rotation: Rotation | None,
        out: Path | None,
        device: torch.device,
    ):
        self.family, self.settings, self.rotation, self.out = family, settings, rotation, out
        network = family.member(settings.seed)
        check_trainable(network, family.name)
        if out is not None:
            check_storable(network, family.name)
        self.assumptions = family.assumptions(network)
        self.network = network.to(device).train()
        self.optimiser = adam(network, settings)
        self.run = self._begun(data_digest(samples))
        if rotation is not None:
            if out is not None:
                store_rotation(out, rotation)
            samples = rotation(samples)
        self.samples = samples.to(device)
        self.noising = Noising.of(family.schedule, own_prediction(network), device=device)
        own = own_output(self.network).to(device)
        self.predict = family.housed(compiled(own) if settings.compile else own)
        self.started = time.perf_counter() - self.run.seconds

    def _begun(self, data: str) -> Run:
        """A fresh run, or the one in the directory if it is of the same training."""
        turned = None if self.rotation is None else self.rotation.digest
        fresh = Run.fresh(self.settings, data, turned, own_prediction(self.network).name)
        with explained(self.family.name, "a call with one sample"):
            own = fresh.header(self.family)
        if self.out is None or not (self.out / FILE).exists():
            return fresh
        stored, tensors = read_training(self.out)
        refuse_other(self.out, stored, own)
        run = restored(self.out, stored, tensors, self.network, self.optimiser)
        run.settings = self.settings  # there may be more iterations now
        LOG.info("continuing %s from step %d", self.out, run.step)
        return run

    def finished(self, callbacks: tuple[Callback, ...]) -> Trained:
        """Make all remaining updates, with checkpoints on the way."""
        run, settings = self.run, self.settings
        LOG.info("training %s for %d iterations", self.family.name, settings.iterations)
        first, began = run.step, time.perf_counter()
        due = began + min(FIRST_SECONDS, CHECKPOINT_SECONDS)
        update = partial(
            _step, self.predict, self.network, self.optimiser, self.samples, self.noising, run
        )
        draws = OwnDraws(settings.seed, "a network's own draws in training")
        while run.step < settings.iterations:
            with explained(self.family.name, f"training step {run.step + 1}"):
                loss = draws(update, run.step)
            self._require_finite(loss)
            run.losses.append(loss)
            run.step += 1
            for callback in callbacks:
                callback(Step(run.step, settings.iterations, loss, time.perf_counter() - began))
            if self.out is not None and time.perf_counter() > due:
                self._store(self.out)
                now = time.perf_counter()
                due = now + min(now - began, CHECKPOINT_SECONDS)
        if run.step > first:
            run.seconds = time.perf_counter() - self.started
            if self.out is not None:
                self._store(self.out)
        network = self.network.eval().cpu()
        return Trained(self.family, network, run, self.optimiser, self.assumptions, self.rotation)

    def _store(self, out: Path) -> None:
        self.run.seconds = time.perf_counter() - self.started
        write_run(out, self.family, self.network, self.optimiser, self.run)

    def _require_finite(self, loss: float) -> None:
        if math.isfinite(loss):
            return
        kept = self.out is not None and (self.out / FILE).exists()
        raise TrainingError(
            f"the loss or its gradient is not finite at step {self.run.step + 1}: lower the "
            f"learning rate ({self.settings.learning_rate:g}) or check network and data"
            + ("; the last good checkpoint is kept" if kept else "")
        )


def data_digest(samples: Tensor) -> str:
    """A short name for the content of a dataset."""
    return checksum({"samples": samples.contiguous().numpy()})[:16]


def _step(
    predict: Callable[[Tensor, Tensor], Tensor],
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    samples: Tensor,
    noising: Noising,
    run: Run,
) -> float:
    """One update from `accumulate` batches; the loss before it."""
    settings = run.settings
    optimiser.zero_grad(set_to_none=True)
    total = 0.0
    for index in _batches(run, len(samples)):
        x = samples[index.to(samples.device)]
        t = torch.randint(noising.steps, (len(x),), generator=run.generator).to(x.device)
        eps = torch.randn(x.shape, generator=run.generator).to(x.device)
        cast = torch.autocast(x.device.type, torch.bfloat16) if settings.bfloat16 else nullcontext()
        with cast:
            predicted = predict(noising.noisy(x, eps, t), t)
            _check_prediction(predicted, eps)
            loss = F.mse_loss(predicted.float(), noising.target(x, eps, t))
        (loss / settings.accumulate).backward()
        total += loss.item() / settings.accumulate
    norm = nn.utils.clip_grad_norm_(network.parameters(), settings.clip).item()
    if not math.isfinite(total + norm):  # such a step is not taken
        return math.nan
    optimiser.step()
    return total


def _check_prediction(predicted: object, eps: Tensor) -> None:
    """Refuse outputs that would be broadcast against the noise, or that cannot be trained."""
    if not isinstance(predicted, Tensor) or predicted.shape != eps.shape:
        shape = getattr(predicted, "shape", None)
        got = type(predicted).__name__ if shape is None else f"shape {tuple(shape)}"
        raise NetworkError(f"the network must return the shape {tuple(eps.shape)}, got {got}")
    if not predicted.requires_grad:
        raise NetworkError(
            "nothing to train: the network's output depends on none of its trainable parameters "
            "(torch.no_grad or detach in its forward?)"
        )


@contextmanager
def explained(name: str, stage: str) -> Iterator[None]:
    """Report errors of a network in one line; a lack of memory is not the network's fault."""
    try:
        yield
    except (SadsError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        if "allocate memory" in str(error):
            raise
        raise NetworkError(f"{name} failed in {stage}: {brief(error)}") from error


def _batches(run: Run, size: int) -> Iterator[Int[Tensor, " batch"]]:
    """Indices of the next `accumulate` batches, which continue across epochs."""
    for _ in range(run.settings.accumulate):
        parts, wanted = [], run.settings.batch_size
        while wanted:
            if run.cursor == len(run.order):
                run.order, run.cursor = torch.randperm(size, generator=run.generator), 0
            parts.append(run.order[run.cursor : run.cursor + wanted])
            run.cursor += len(parts[-1])
            wanted -= len(parts[-1])
        yield torch.cat(parts)
