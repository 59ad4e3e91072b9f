"""Denoising score matching: plain mean squared error on the noise, t uniform (equation 2).

Adam, gradients clipped to a norm of 1, no average of the weights. Every sample is seen once per
epoch, in a new order each time; batches run on across epochs, so all have one size.

Everything that decides the next step (parameters, Adam's moments, generator, order of the epoch)
is in the checkpoint. A run that was killed continues bit for bit at the same thread count.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..alignment import ROTATION_FILE, Rotation, load_rotation, write_rotation
from ..devices import usable_device
from ..errors import ArtefactError, InputError, NetworkError, SadsError, brief
from ..networks import ScoreFamily
from ..networks.adapters import Assumptions
from ..networks.isolation import OwnDraws
from ..storage.files import atomic_write, checksum, writing
from .checkpoint import FILE, Run, Settings, read_run, write_run
from .noising import add_noise, signal_levels
from .state import check_storable, check_trainable

CHECKPOINT_SECONDS = 60.0
FIRST_SECONDS = 2.0  # until the first checkpoint; the pauses double up to CHECKPOINT_SECONDS
LOSSES = "loss.csv"


class TrainingError(SadsError):
    """A training that cannot go on; the last good checkpoint is kept."""


@dataclass(frozen=True)
class Step:
    """One step of training, as callbacks see it: the `number`-th of `iterations`."""

    number: int
    iterations: int
    loss: float
    seconds: float


Callback = Callable[[Step], None]


@dataclass(frozen=True)
class Trained:
    """A trained network and how it came about.

    Attributes:
        network: in eval mode, on the CPU.
        settings: the protocol.
        losses: one for each step.
        seconds: time spent training.
        assumptions: what the network is taken for.
    """

    network: nn.Module
    settings: Settings
    losses: Float[Tensor, " steps"]
    seconds: float
    assumptions: Assumptions


def train(
    family: ScoreFamily,
    samples: Float[Tensor, "M ..."],
    settings: Settings,
    *,
    rotation: Rotation | None = None,
    out: str | Path | None = None,
    callbacks: tuple[Callback, ...] = (),
    device: str = "cpu",
) -> Trained:
    """Train a fresh network of a family on samples.

    Args:
        family: the network; its schedule is the diffusion's.
        samples: training data, shape (M, *family.shape), float32.
        settings: the protocol; its seed decides the initialisation and all draws.
        rotation: applied to the samples; stored in `out`, so that sampling can return from it.
        out: directory for checkpoints and the result; an unfinished run is continued.
        callbacks: called after each step; a logger for TensorBoard or W&B is one of these.
        device: `cpu` or a CUDA device.

    Raises:
        InputError: if the samples do not fit the network.
        NetworkError: if the network cannot be trained or stored, or fails when it is called.
        TrainingError: if the loss is not finite; the last good checkpoint stays in `out`.
        ArtefactError: if `out` holds another training.
    """
    _check_samples(family, samples)
    place = usable_device(device)
    if out is None:
        return _train(family, samples, settings, rotation, None, callbacks, place)
    with writing(Path(out)):
        return _train(family, samples, settings, rotation, Path(out), callbacks, place)


def _check_samples(family: ScoreFamily, samples: Tensor) -> None:
    if tuple(samples.shape[1:]) != family.shape:
        got, expected = tuple(samples.shape[1:]), family.shape
        raise InputError(
            f"{family.name} takes samples of shape {expected}, the data have {got}: resize the "
            "data or choose another --shape"
        )
    if not len(samples):
        raise InputError("there is nothing to train on: the dataset is empty")
    if not bool(torch.isfinite(samples).all()):
        raise InputError("the training data have NaN or infinite values: clean them first")


def _train(
    family: ScoreFamily,
    samples: Tensor,
    settings: Settings,
    rotation: Rotation | None,
    out: Path | None,
    callbacks: tuple[Callback, ...],
    device: torch.device,
) -> Trained:
    network = family.member(settings.seed)
    check_trainable(network, family.name)
    if out is not None:
        check_storable(network, family.name)
    assumptions = family.assumptions(network)
    network = network.to(device).train()
    optimiser = torch.optim.AdamW(  # without decay it is Adam
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    with explained(family.name, "a call with one sample"):
        fingerprint = family.fingerprint
    turned = rotation.digest if rotation else None
    run = Run.fresh(settings, fingerprint, data_digest(samples), turned)
    if out is not None and (out / FILE).exists():
        run = read_run(out, family, network, optimiser, run)
    if rotation is not None:
        if out is not None:
            _store_rotation(out, rotation)
        samples = rotation(samples)
    started, before = time.perf_counter(), run.seconds
    due = started + min(FIRST_SECONDS, CHECKPOINT_SECONDS)

    def store() -> None:
        run.seconds = before + time.perf_counter() - started
        if out is not None:
            write_run(out, family, network, optimiser, run)
            rows = "".join(f"{i},{loss!r}\n" for i, loss in enumerate(run.losses, start=1))
            atomic_write(out / LOSSES, lambda path: path.write_text(f"step,loss\n{rows}"))

    predict = family.housed(compiled(network) if settings.compile else network)
    samples = samples.to(device)
    abar = signal_levels(family.schedule, device)
    first = run.step
    draws = OwnDraws(settings.seed, "a network's own draws in training")
    while run.step < settings.iterations:
        with explained(family.name, f"training step {run.step + 1}"):
            loss = draws(lambda: _step(predict, network, optimiser, samples, abar, run), run.step)
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss or its gradient is not finite at step {run.step + 1}: lower the "
                f"learning rate ({settings.learning_rate:g}) or check network and data"
                + ("; the last good checkpoint is kept" if out and (out / FILE).exists() else "")
            )
        run.losses.append(loss)
        run.step += 1
        for callback in callbacks:
            callback(Step(run.step, settings.iterations, loss, time.perf_counter() - started))
        if out is not None and time.perf_counter() > due:
            store()
            now = time.perf_counter()
            due = now + min(now - started, CHECKPOINT_SECONDS)
    if run.step > first or out is None:
        store()
    losses = torch.tensor(run.losses, dtype=torch.float32)
    return Trained(network.eval().cpu(), settings, losses, run.seconds, assumptions)


def _store_rotation(out: Path, rotation: Rotation) -> None:
    """Keep the rotation beside the training; one that somebody else put there is not replaced."""
    foreign = (out / ROTATION_FILE).exists() and not (out / FILE).exists()
    if foreign and load_rotation(out).digest != rotation.digest:
        raise ArtefactError(
            f"{out} holds another rotation than this training's: choose another place, or delete "
            f"{ROTATION_FILE} there"
        )
    write_rotation(out, rotation)


def compiled(network: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    """The network under torch.compile, its kernels laid out channels last, which is faster."""
    return torch.compile(network.to(memory_format=torch.channels_last))  # pyright: ignore


def data_digest(samples: Tensor) -> str:
    """A short name for the content of a dataset."""
    return checksum({"samples": samples.contiguous().numpy()})[:16]


def _step(
    predict: Callable[[Tensor, Tensor], Tensor],
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    samples: Tensor,
    abar: Tensor,
    run: Run,
) -> float:
    """One update from `accumulate` batches; the loss before it."""
    settings = run.settings
    optimiser.zero_grad(set_to_none=True)
    total = 0.0
    for index in _batches(run, len(samples)):
        x = samples[index.to(samples.device)]
        t = torch.randint(len(abar), (len(x),), generator=run.generator).to(x.device)
        eps = torch.randn(x.shape, generator=run.generator).to(x.device)
        cast = torch.autocast(x.device.type, torch.bfloat16) if settings.bfloat16 else nullcontext()
        with cast:
            predicted = predict(add_noise(x, eps, t, abar), t)
            _check_prediction(predicted, eps)
            loss = F.mse_loss(predicted.float(), eps)
        (loss / settings.accumulate).backward()
        total += loss.item() / settings.accumulate
    norm = nn.utils.clip_grad_norm_(network.parameters(), settings.clip).item()
    if not math.isfinite(total + norm):  # a bad step is not taken
        return math.nan
    optimiser.step()
    return total


def _check_prediction(predicted: object, eps: Tensor) -> None:
    """Refuse what would be compared with the noise by broadcasting, or teach nothing."""
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
    """Errors that a network raises, in one line; a lack of memory is not the network's fault."""
    try:
        yield
    except (SadsError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        if "allocate memory" in str(error):
            raise
        raise NetworkError(f"{name} failed in {stage}: {brief(error)}") from error


def _batches(run: Run, size: int) -> Iterator[Int[Tensor, " batch"]]:
    """Indices of the next `accumulate` batches, running on through the epochs."""
    for _ in range(run.settings.accumulate):
        parts, wanted = [], run.settings.batch_size
        while wanted:
            if run.cursor == len(run.order):
                run.order, run.cursor = torch.randperm(size, generator=run.generator), 0
            parts.append(run.order[run.cursor : run.cursor + wanted])
            run.cursor += len(parts[-1])
            wanted -= len(parts[-1])
        yield torch.cat(parts)
