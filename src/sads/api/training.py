"""Training networks, and sampling from trained ones."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Float

from .. import diffusion as _diffusion
from ..alignment import Rotation
from ..diffusion import Callback, Trained, settings_for
from ..diffusion.sampling import CHUNK, OnStep
from ..foundation.choices import Prediction, SolverName
from ..geometry import Geometry
from ..path import DiffusionPath
from ..randomness import Random
from ..specs.coercion import Data, Network, Shape, as_dataset, as_family, as_trained
from ..specs.rotations import rotation_for


def train(
    source: Network,
    data: Data,
    *,
    shape: Shape | None = None,
    iterations: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    seed: Random = 0,
    out: str | Path | None = None,
    rotation: str | Path | Rotation | None = None,
    geometry: str | Path | Geometry | None = None,
    rank: int | None = None,
    prediction: Prediction | None = None,
    schedule: str | DiffusionPath | None = None,
    accumulate: int = 1,
    clip: float = 1.0,
    weight_decay: float = 0.0,
    compile: bool = False,  # noqa: A002 - torch's name
    bfloat16: bool = False,
    callbacks: tuple[Callback, ...] = (),
    device: str = "cpu",
) -> Trained:
    """Train a fresh network on a dataset by denoising score matching.

    Args:
        source: what `network` takes; a family is trained under its own schedule.
        data: in the data grammar (its training split unless it names another), a dataset, or an
            array of samples.
        shape: shape of one sample, as in `network`.
        iterations: updates; the preset's of table 1 unless given.
        batch_size: samples in a batch; the preset's unless given.
        learning_rate: the learning rate of Adam; the preset's unless given.
        seed: the seed of the initialisation and all draws, or a generator that gives one.
        out: directory for checkpoints and the result; an unfinished run is continued.
        rotation: the rotation of the data: `"identity"`, `"random"` (drawn by the seed),
            `"whiten"`, `"min"` or `"max"` with a geometry, a rotation, or the directory of one.
        geometry: a geometry of this network or its directory, for `"min"` and `"max"`.
        rank: how many leading data directions `"min"`, `"max"` or `"random"` moves; all unless
            given.
        prediction: as in `network`.
        schedule: as in `network`.
        accumulate: batches in each update.
        clip: largest norm of the gradient.
        weight_decay: weight decay, decoupled from the gradient as in AdamW.
        compile: use torch.compile.
        bfloat16: use autocast to bfloat16.
        callbacks: called after each step with its number, loss and time.
        device: `"cpu"` or a CUDA device.

    >>> import sads
    >>> trained = sads.train("mlp", "digits,count=50", shape="1x8x8", iterations=2, batch_size=10)
    >>> len(trained.losses)
    2
    """
    family = as_family(source, shape=shape, prediction=prediction, schedule=schedule)
    dataset = as_dataset(data, shape=family.shape, split="train")
    settings = settings_for(
        family,
        iterations=iterations,
        batch_size=batch_size,
        learning_rate=learning_rate,
        seed=seed,
        accumulate=accumulate,
        clip=clip,
        weight_decay=weight_decay,
        compile=compile,
        bfloat16=bfloat16,
    )
    turn = rotation_for(family, dataset, rotation, geometry=geometry, rank=rank, seed=settings.seed)
    return _diffusion.train(
        family,
        dataset.samples,
        settings,
        rotation=turn,
        out=out,
        callbacks=callbacks,
        device=device,
    )


def load_trained(directory: str | Path, *, source: Network | None = None) -> Trained:
    """The trained network in a directory that `train` wrote.

    Args:
        directory: the directory.
        source: the network, if it was trained from a callable, which has no name to find it by.

    >>> import sads, tempfile
    >>> trained = sads.train("mlp", "digits,count=50", shape="1x8x8", iterations=2, batch_size=10)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     trained.save(directory)
    ...     sads.load_trained(directory)
    Trained(mlp, 2 steps)
    """
    return as_trained(directory, network=source)


def sample(
    trained: str | Path | Trained,
    count: int,
    *,
    steps: int | None = None,
    eta: float | None = None,
    solver: SolverName | None = None,
    seed: Random = 0,
    compile: bool = False,  # noqa: A002 - torch's name
    device: str = "cpu",
    source: Network | None = None,
) -> Float[np.ndarray, "N ..."]:
    """Samples of a trained network, as one array.

    Args:
        trained: what `train` returned, or the directory that it wrote.
        count: the number of samples.
        steps: levels visited; unless given all of them, but at most a thousand.
        eta: eta in DDIM's formula: 1 for ancestral sampling, 0 for deterministic sampling.
        solver: `"ddpm"`, `"ddim"`, `"euler"` or `"heun"`. Unless given, it is DDIM's formula if
            eta is given, else `"ddpm"` on paths that preserve variance and `"euler"` on others.
        seed: the seed of all noise, or a generator that gives one.
        compile: use torch.compile.
        device: `cpu` or a CUDA device.
        source: as in `load_trained`.

    >>> import sads
    >>> trained = sads.train("mlp", "digits,count=50", shape="1x8x8", iterations=2, batch_size=10)
    >>> sads.sample(trained, 4, steps=3).shape
    (4, 1, 8, 8)
    """
    chunks = sample_chunks(
        trained,
        count,
        steps=steps,
        eta=eta,
        solver=solver,
        seed=seed,
        compile=compile,
        device=device,
        source=source,
    )
    return np.concatenate(list(chunks))


def sample_chunks(
    trained: str | Path | Trained,
    count: int,
    *,
    steps: int | None = None,
    eta: float | None = None,
    solver: SolverName | None = None,
    seed: Random = 0,
    chunk: int = CHUNK,
    first: int = 0,
    compile: bool = False,  # noqa: A002 - torch's name
    device: str = "cpu",
    source: Network | None = None,
    on_step: OnStep | None = None,
) -> Iterator[Float[np.ndarray, "n ..."]]:
    """Like `sample`, but a chunk at a time, for more samples than fit in memory.

    Args:
        trained: as in `sample`.
        count: the number of samples.
        steps: as in `sample`.
        eta: as in `sample`.
        solver: as in `sample`.
        seed: as in `sample`.
        chunk: samples computed at once; their values do not depend on it.
        first: the number of samples to leave out at the start, because they are known already.
        compile: use torch.compile.
        device: `cpu` or a CUDA device.
        source: as in `load_trained`.
        on_step: called with steps done and steps in all.

    >>> import sads
    >>> trained = sads.train("mlp", "digits,count=50", shape="1x8x8", iterations=2, batch_size=10)
    >>> [len(chunk) for chunk in sads.sample_chunks(trained, 5, steps=3, chunk=2)]
    [2, 2, 1]
    """
    chunks = _diffusion.samples_of(
        as_trained(trained, network=source),
        count,
        steps=steps,
        eta=eta,
        solver=solver,
        seed=seed,
        chunk=chunk,
        first=first,
        compile=compile,
        device=device,
        on_step=on_step,
    )
    return (chunk.numpy() for chunk in chunks)
