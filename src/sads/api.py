"""The Python entry points: strings, factories or values in; geometries, models, samples out.

Nothing is computed here: strings become values (`specs.sources`), and the rooms do the work.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from . import alignment as _alignment
from . import diffusion as _diffusion
from . import doctor as _doctor
from . import geometry as _geometry
from .alignment import Alignment, Rotation
from .diffusion import Callback, Trained, settings_for
from .diffusion.sampling import CHUNK, OnStep
from .directions.sets import DirectionSet
from .distances import Distance, measure_distance
from .doctor import Diagnosis
from .geometry import Geometry, Probe, Progress
from .learning import Forecast, Recipe, Risk, measure_risk, reference_for
from .learning.ladder import forecast_data
from .learning.recipe import Optimiser
from .networks import ScoreFamily
from .path import Schedule
from .randomness import Random
from .ranking import PilotProtocol, Ranking, check_families, rank_families
from .specs.rotations import rotation_for
from .specs.sources import (
    Data,
    Network,
    Shape,
    as_dataset,
    as_dataset_pair,
    as_directions,
    as_family,
    as_geometry,
    as_predictor,
    as_probe,
    as_shape,
    as_splits,
    as_trained,
)
from .specs.timesteps import as_loss_weights, as_timestep_law


def network(
    source: Network,
    *,
    shape: Shape | None = None,
    prediction: str | None = None,
    schedule: str | Schedule | None = None,
) -> ScoreFamily:
    """A family of score networks.

    Args:
        source: a preset with fields (`"iddpm-16,resampling=area"`), `"FILE.py:factory"`,
            `"package.module:factory"`, `"diffusers:FILE.json"`, a callable that makes modules, or
            a family.
        shape: shape of one sample, `"1x16x16"` or a tuple; needed for callables. Presets have
            their own, and so do families, where another one is refused.
        prediction: what the modules predict: `"eps"`, `"v"` or `"x0"`; in a string it can also
            be written as `",prediction=v"`.
        schedule: the noise schedule they are meant for: `"linear"`, `"cosine"` or a `Schedule`;
            that of the family, or the linear one of a thousand steps, unless given.

    >>> import sads
    >>> sads.network("cnn", shape="1x8x8", schedule="cosine").schedule
    Schedule(kind='cosine', steps=1000)
    """
    return as_family(source, shape=shape, prediction=prediction, schedule=schedule)


def estimate_geometry(
    source: Network,
    *,
    shape: Shape | None = None,
    probe: str | Probe = "zero",
    networks: int | None = None,
    tolerance: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    prediction: str | None = None,
    schedule: str | Schedule | None = None,
    of: str = "outputs",
    estimator: str | None = None,
    weighting: str = "score",
    timesteps: tuple[int, int] | None = None,
    zero_output: str = "explain",
    device: str = "cpu",
    on_progress: Callable[[Progress], None] | None = None,
) -> Geometry:
    """Estimate the average geometry of untrained networks.

    Args:
        source: what `network` takes.
        shape: shape of one sample, as in `network`.
        probe: where to look: `"zero"`, `"gaussian:STD"`, `"point:FILE"`, `"forward:DATA"` or a
            probe.
        networks: stop after so many networks.
        tolerance: stop at this whitened error; 0.02 (of tangents 0.05) unless `networks` is given.
        seed: of all random draws.
        out: directory for the result and for checkpoints; an unfinished run is continued.
        prediction: as in `network`.
        schedule: as in `network`.
        of: `"outputs"` for the paper's geometry, `"tangent"` for the tangent kernel E[J J^T].
        estimator: of outputs: `"integrated"` unless given, or `"naive"`, the paper's.
        weighting: `"score"` for the paper's geometry, `"noise"` to count all timesteps alike.
        timesteps: only those from the first up to, but not including, the second.
        zero_output: what to do about networks that output zero at initialisation: `"explain"`
            stops with the reason, `"last"` redraws the layer that zeroes the output or sets its
            gain to one, `"all"` does so with every zero layer.
        device: `"cpu"` or a CUDA device.
        on_progress: called after each batch.

    >>> import sads
    >>> sads.estimate_geometry("cnn", shape="1x4x4", networks=24).networks
    24
    """
    family = as_family(source, shape=shape, prediction=prediction, schedule=schedule)
    return _geometry.estimate_geometry(
        family,
        probe=as_probe(probe, shape=family.shape),
        networks=networks,
        tolerance=tolerance,
        seed=seed,
        out=out,
        of=of,
        estimator=estimator,
        weighting=weighting,
        timesteps=timesteps,
        zero_output=zero_output,
        device=device,
        on_progress=on_progress,
    )


def running_estimates(
    source: Network,
    *,
    shape: Shape | None = None,
    probe: str | Probe = "zero",
    networks: int | None = None,
    tolerance: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    prediction: str | None = None,
    schedule: str | Schedule | None = None,
    of: str = "outputs",
    estimator: str | None = None,
    weighting: str = "score",
    timesteps: tuple[int, int] | None = None,
    zero_output: str = "explain",
    device: str = "cpu",
    on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[Geometry]:
    """Like `estimate_geometry`, with the same arguments, but yields estimates as they improve.

    The last one is the result.

    >>> import sads
    >>> estimates = sads.running_estimates("cnn", shape="1x4x4", networks=48)
    >>> [geometry.networks for geometry in estimates][-1]
    48
    """
    family = as_family(source, shape=shape, prediction=prediction, schedule=schedule)
    return _geometry.running_estimates(
        family,
        probe=as_probe(probe, shape=family.shape),
        networks=networks,
        tolerance=tolerance,
        seed=seed,
        out=out,
        of=of,
        estimator=estimator,
        weighting=weighting,
        timesteps=timesteps,
        zero_output=zero_output,
        device=device,
        on_progress=on_progress,
    )


def diagnose(
    source: Network,
    *,
    shape: Shape | None = None,
    networks: int | None = None,
    seed: int = 0,
    prediction: str | None = None,
    schedule: str | Schedule | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> Diagnosis:
    """What is wrong with an architecture, before anyone trains it.

    Args:
        source: what `network` takes.
        shape: shape of one sample, as in `network`.
        networks: untrained networks behind each of the two geometries; 768 unless given.
        seed: of all random draws.
        prediction: as in `network`.
        schedule: as in `network`.
        on_stage: called with what is done next.

    >>> import sads
    >>> sads.diagnose("cnn", shape="1x4x4", networks=12).network
    'cnn'
    """
    family = as_family(source, shape=shape, prediction=prediction, schedule=schedule)
    count = _doctor.NETWORKS if networks is None else networks
    return _doctor.diagnose(family, networks=count, seed=seed, on_stage=on_stage)


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
    prediction: str | None = None,
    schedule: str | Schedule | None = None,
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
        batch_size: samples a batch; likewise.
        learning_rate: of Adam; likewise.
        seed: of the initialisation and all draws, or a generator that gives one.
        out: directory for checkpoints and the result; an unfinished run is continued.
        rotation: of the data: `"identity"`, `"random"` (drawn by the seed), `"min"` or `"max"`
            with a geometry, a rotation, or the directory of one.
        geometry: a geometry of this network or its directory, for `"min"` and `"max"`.
        rank: leading data directions that `"min"`, `"max"` or `"random"` moves; all unless given.
        prediction: as in `network`.
        schedule: as in `network`.
        accumulate: batches an update.
        clip: largest norm of the gradient.
        weight_decay: share of every weight that is taken away in each update, over the rate.
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
        source: the network, where it was trained from a callable and has no name to find it by.

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
    steps: int = 1000,
    eta: float = 1.0,
    seed: Random = 0,
    compile: bool = False,  # noqa: A002 - torch's name
    device: str = "cpu",
    source: Network | None = None,
) -> Float[np.ndarray, "N ..."]:
    """Samples of a trained network, as one array.

    Args:
        trained: what `train` returned, or the directory that it wrote.
        count: how many samples.
        steps: timesteps visited; 1000 is ancestral sampling in full.
        eta: 1 for ancestral sampling, 0 for deterministic DDIM.
        seed: of all noise, or a generator that gives one.
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
    steps: int = 1000,
    eta: float = 1.0,
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
        count: how many samples.
        steps: timesteps visited.
        eta: 1 for ancestral sampling, 0 for deterministic DDIM.
        seed: of all noise, or a generator that gives one.
        chunk: samples computed at once; it does not change them.
        first: leave out the samples before this one, which are known already.
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
        seed=seed,
        chunk=chunk,
        first=first,
        compile=compile,
        device=device,
        on_step=on_step,
    )
    return (chunk.numpy() for chunk in chunks)


def align(geometry: str | Path | Geometry, data: Data) -> Alignment:
    """How data lies in a geometry: alpha, its extremes over all rotations, and where between.

    Args:
        geometry: a geometry or its directory.
        data: in the data grammar (its training split unless it names another), a dataset, or an
            array of samples.

    >>> import sads
    >>> geometry = sads.estimate_geometry("cnn", shape="1x8x8", networks=24)
    >>> sads.align(geometry, "digits").relative > 1  # where the network models badly
    True
    """
    known = as_geometry(geometry)
    return _alignment.align(known, as_dataset(data, shape=known.shape, split="train"))


def rotate(
    geometry: str | Path | Geometry,
    data: Data,
    kind: str,
    *,
    rank: int | None = None,
    seed: Random = 0,
) -> Rotation:
    """A rotation of data with respect to a geometry.

    Args:
        geometry: a geometry or its directory.
        data: as in `align`.
        kind: `min`, `max`, `random` or `identity`.
        rank: leading data directions that move; all unless given.
        seed: of a random rotation, or a generator that gives one.

    >>> import sads
    >>> geometry = sads.estimate_geometry("cnn", shape="1x8x8", networks=24)
    >>> sads.rotate(geometry, "digits,size=8", "min", rank=4).origin.rank
    4
    """
    known = as_geometry(geometry)
    dataset = as_dataset(data, shape=known.shape, split="train")
    return _alignment.make_rotation(kind, geometry=known, data=dataset, rank=rank, seed=seed)


def distance(
    a: Data,
    b: Data,
    *,
    shape: Shape | None = None,
    projections: int | None = None,
    seed: Random = 0,
) -> Distance:
    """Distances between two sets of samples: over random directions, and in the worst one.

    Args:
        a: an array of samples, a dataset, or data in the grammar: its held-out split unless it
            names another, so that nothing is measured against training data.
        b: likewise.
        shape: shape of one sample, where neither tells it.
        projections: random directions, 64 D unless given.
        seed: of directions and permutations: a whole number, a NumPy or a torch generator.

    >>> import sads
    >>> halves = "digits,split=train", "digits,split=held-out"
    >>> sads.distance(*halves, projections=64).p_value > 0.01
    True
    """
    first, second = as_dataset_pair(a, b, shape=as_shape(shape))
    return measure_distance(
        first.samples,
        second.samples,
        x_direction=first.direction,
        y_direction=second.direction,
        projections=projections,
        seed=seed,
    )


def risk(
    trained: str | Path | Trained | Network,
    other: str | Path | Trained | None = None,
    *,
    data: Data,
    directions: str | DirectionSet | None = None,
    weights: str | Path | None = None,
    exact: bool = False,
    timestep_law: str | Float[np.ndarray, " T"] | None = None,
    loss_weights: str | Float[np.ndarray, " T"] | None = None,
    tolerance: float = 0.02,
    seed: int = 0,
    shape: Shape | None = None,
    prediction: str | None = None,
    schedule: str | Schedule | None = None,
) -> Risk:
    """The error of a trained network by direction and noise level.

    Args:
        trained: what `train` returned, the directory that it wrote, or what `network` takes,
            together with `weights`.
        other: a second training; the result is then the second minus the first.
        data: in the data grammar (its held-out split unless it names another), a dataset, or
            an array of samples.
        directions: in the grammar of directions, or a set of them; bands of frequency by default.
        weights: a safetensors file with the parameters of the network, trained elsewhere.
        exact: whether to refuse data whose optimum is not known.
        timestep_law: probability of each timestep in the total, as in `forecast`.
        loss_weights: weight of each timestep in the total, as in `forecast`.
        tolerance: relative standard error of the total at which to stop.
        seed: of all draws.
        shape: as in `network`, for a network with `weights`.
        prediction: likewise.
        schedule: likewise.

    >>> import sads
    >>> trained = sads.train("mlp", "gaussian", shape="1x4x4", iterations=2, batch_size=10)
    >>> sads.risk(trained, data="gaussian", tolerance=0.2).exact
    True
    """
    family, predict = as_predictor(
        trained, weights=weights, shape=shape, prediction=prediction, schedule=schedule
    )
    recipe = Recipe(
        timestep_law=as_timestep_law(timestep_law, family.schedule),
        loss_weights=as_loss_weights(loss_weights, family.schedule),
    )
    recipe.check_steps(family.schedule)
    second = None if other is None else as_predictor(other, like=family)[1]
    return measure_risk(
        predict,
        reference_for(as_dataset(data, shape=family.shape, split="held-out"), exact=exact),
        family.schedule,
        family.shape,
        other=second,
        directions=as_directions(directions, shape=family.shape),
        emphasis=recipe.emphasis(family.schedule),
        tolerance=tolerance,
        seed=seed,
    )


def forecast(
    source: Network,
    data: Data,
    *,
    directions: str | DirectionSet | None = None,
    optimiser: Optimiser = "adam",
    learning_rate: float = 1e-3,
    batch_size: int = 64,
    clip: float | None = 1.0,
    weight_decay: float = 0.0,
    warm_up: int = 0,
    steps: int = 300,
    timestep_law: str | Float[np.ndarray, " T"] | None = None,
    loss_weights: str | Float[np.ndarray, " T"] | None = None,
    method: str = "auto",
    networks: int | None = None,
    tolerance: float = 0.1,
    seed: int = 0,
    out: str | Path | None = None,
    on_progress: Callable[[int, float], None] | None = None,
    shape: Shape | None = None,
    prediction: str | None = None,
    schedule: str | Schedule | None = None,
) -> Forecast:
    """Forecast what training does along each direction: what is learned early, what stays noisy.

    Args:
        source: what `network` takes.
        data: in the data grammar (its training split unless it names another), a dataset, or an
            array of samples.
        directions: in the grammar of directions, or a set of them; bands of frequency by default.
        optimiser: of the training that is forecast: `"adam"`, `"adamw"` or `"sgd"`.
        learning_rate: its rate, after the warm-up.
        batch_size: samples a step.
        clip: largest norm of a gradient; None leaves gradients as they are.
        weight_decay: of `"adamw"` and `"sgd"`.
        warm_up: steps over which the rate rises linearly.
        steps: planned.
        timestep_law: probability of each timestep in a batch: an array, or `"uniform"`,
            `"logit-normal:MEAN,STD"` or `"npy:FILE"`.
        loss_weights: weight of each timestep in the loss: an array, or `"uniform"`, `"x0"`, `"v"`,
            `"min-snr:GAMMA"` or `"npy:FILE"`.
        method: `"one step"`, `"tangent flow"`, `"pilot"`, or `"auto"` for the cheapest that has
            been right about networks of this kind.
        networks: how many are looked at; without it, until the tolerance is reached.
        tolerance: error of the drifts over their spread at which to stop.
        seed: of all draws.
        out: directory for the result; an interrupted forecast is continued.
        on_progress: called with networks so far and error over spread.
        shape: as in `network`.
        prediction: likewise.
        schedule: likewise.

    >>> import sads
    >>> told = sads.forecast("cnn,width=8", "gaussian", shape="1x4x4", networks=8)
    >>> told.networks, len(told.drift)
    (8, 9)
    """
    family = as_family(source, shape=shape, prediction=prediction, schedule=schedule)
    return forecast_data(
        family,
        as_dataset(data, shape=family.shape, split="train", drawn=1),
        directions=as_directions(directions, shape=family.shape),
        recipe=Recipe(
            optimiser=optimiser,
            learning_rate=learning_rate,
            batch_size=batch_size,
            clip=clip,
            weight_decay=weight_decay,
            warm_up=warm_up,
            timestep_law=as_timestep_law(timestep_law, family.schedule),
            loss_weights=as_loss_weights(loss_weights, family.schedule),
        ),
        steps=steps,
        method=method,
        networks=networks,
        tolerance=tolerance,
        seed=seed,
        out=out,
        on_progress=on_progress,
    )


def rank(
    networks: Sequence[Network],
    data: Data,
    *,
    shape: Shape | None = None,
    pilot: PilotProtocol | None = None,
    out: str | Path | None = None,
    prediction: str | None = None,
    schedule: str | Schedule | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Ranking:
    """Order architectures for a dataset.

    A score of untrained networks is used if one has passed its validation; none has. So all
    candidates are trained for a short time, with the same batches and noise, and compared by their
    errors on held-out data. How often such an order was right is measured in `docs/results.md`.

    Args:
        networks: two or more of what `network` takes, of one shape.
        data: in the data grammar, a dataset, or an array of samples, of which a sixth is held out.
        shape: shape of one sample, as in `network`.
        pilot: how the short trainings are made; giving it asks for them.
        out: directory in which they are kept; a ranking that was stopped goes on from there.
        prediction: as in `network`, for all of them.
        schedule: likewise.
        on_progress: called with a network's name, trainings done and trainings at most.

    >>> import sads
    >>> short = sads.PilotProtocol(steps=4, seeds=2, points=5)
    >>> ranking = sads.rank(["mlp,width=8", "cnn,width=8"], "digits", shape="1x8x8", pilot=short)
    >>> len(ranking.entries), ranking.method
    (2, 'pilot')
    """
    families = [
        as_family(source, shape=shape, prediction=prediction, schedule=schedule)
        for source in networks
    ]
    check_families(families)
    training, held_out = as_splits(data, shape=families[0].shape)
    return rank_families(
        families,
        training,
        held_out,
        pilot=pilot,
        out=None if out is None else Path(out),
        on_progress=on_progress,
    )
