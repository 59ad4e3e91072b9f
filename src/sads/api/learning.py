"""What training does: its error by direction, forecasts of it, and rankings of architectures."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ..diffusion import Trained
from ..directions.sets import DirectionSet
from ..execution.engines import Engine
from ..foundation.choices import ForecastMethod, Optimiser, Prediction, RiskOf
from ..learning import Forecast, Recipe, Risk, measure_risk, reference_for
from ..learning.forecast_from_data import forecast_data
from ..path import DiffusionPath
from ..ranking import PilotProtocol, Ranking, check_families, rank_families, recipe_of
from ..remote import row_workers_for
from ..specs.coercion import (
    Data,
    Network,
    Shape,
    as_dataset,
    as_directions,
    as_family,
    as_predictor,
    as_splits,
    two_sources,
)
from ..specs.timesteps import as_loss_weights, as_timestep_law


def risk(
    trained: str | Path | Trained | Network,
    other: str | Path | Trained | Network | None = None,
    *,
    data: Data,
    directions: str | DirectionSet | None = None,
    weights: str | Path | Sequence[str | Path] | None = None,
    exact: bool = False,
    timestep_law: str | Float[np.ndarray, " T"] | None = None,
    loss_weights: str | Float[np.ndarray, " T"] | None = None,
    of: RiskOf = "noise",
    sigmas: Sequence[float] | None = None,
    tolerance: float = 0.02,
    seed: int = 0,
    shape: Shape | None = None,
    prediction: Prediction | None = None,
    schedule: str | DiffusionPath | None = None,
) -> Risk:
    """The error of a trained network by direction and noise level.

    Args:
        trained: what `train` returned, the directory that it wrote, or what `network` takes,
            together with `weights`.
        other: a second training; the result is then the second minus the first. Leave it out to
            compare two files of weights of the same network.
        data: in the data grammar (its held-out split unless it names another), a dataset, or
            an array of samples.
        directions: in the grammar of directions, or a set of them; bands of frequency by default.
        weights: a safetensors file with the parameters of the network, trained elsewhere
            (`FILE.safetensors:PREFIX` where it holds them more than once); two files compare two
            checkpoints.
        exact: whether to refuse data whose optimum is not known.
        timestep_law: probability of each timestep in the total, as in `forecast`.
        loss_weights: weight of each timestep in the total, as in `forecast`.
        of: whose error it is: that of the `"noise"`, or of the `"clean"` sample, the denoised
            image.
        sigmas: ratios of noise to signal over which the total is averaged, instead of all
            timesteps; with `of="clean"` this compares networks on different paths.
        tolerance: relative standard error of the total at which to stop.
        seed: the seed of all draws.
        shape: as in `network`, for a network with `weights`.
        prediction: as in `network`, for a network with `weights`.
        schedule: as in `network`, for a network with `weights`.

    >>> import sads
    >>> trained = sads.train("mlp", "gaussian", shape="1x4x4", iterations=2, batch_size=10)
    >>> sads.risk(trained, data="gaussian", tolerance=0.2).exact
    True
    """
    first, second = two_sources(trained, other, weights)
    family, predict = as_predictor(*first, shape=shape, prediction=prediction, schedule=schedule)
    recipe = Recipe(
        timestep_law=as_timestep_law(timestep_law, family.schedule),
        loss_weights=as_loss_weights(loss_weights, family.schedule),
    )
    recipe.check_steps(family.schedule)
    beside = None
    if second is not None:
        beside = as_predictor(
            *second, shape=shape, prediction=prediction, schedule=schedule, like=family
        )[1]
    return measure_risk(
        predict,
        reference_for(as_dataset(data, shape=family.shape, split="held-out"), exact=exact),
        family.schedule,
        family.shape,
        other=beside,
        directions=as_directions(directions, shape=family.shape),
        emphasis=recipe.emphasis(family.schedule),
        of=of,
        sigmas=sigmas,
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
    method: ForecastMethod = "auto",
    networks: int | None = None,
    tolerance: float = 0.1,
    seed: int = 0,
    out: str | Path | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    on_progress: Callable[[int, float], None] | None = None,
    shape: Shape | None = None,
    prediction: Prediction | None = None,
    schedule: str | DiffusionPath | None = None,
) -> Forecast:
    """Forecast what training does along each direction: what is learned early, what stays noisy.

    Args:
        source: what `network` takes.
        data: in the data grammar (its training split unless it names another), a dataset, or an
            array of samples.
        directions: in the grammar of directions, or a set of them; bands of frequency by default.
        optimiser: the optimiser of the training that is forecast: `"adam"`, `"adamw"` or `"sgd"`.
        learning_rate: its rate, after the warm-up.
        batch_size: samples in each step.
        clip: largest norm of a gradient; None leaves gradients as they are.
        weight_decay: weight decay of `"adamw"` and `"sgd"`.
        warm_up: steps over which the rate rises linearly.
        steps: the number of steps of that training.
        timestep_law: probability of each timestep in a batch: an array, or `"uniform"`,
            `"logit-normal:MEAN,STD"` or `"npy:FILE"`.
        loss_weights: weight of each timestep in the loss: an array, or `"uniform"`, `"x0"`, `"v"`,
            `"min-snr:GAMMA"` or `"npy:FILE"`.
        method: `"one step"`, `"tangent flow"`, `"pilot"`, or `"auto"` for the cheapest that has
            been right about networks of this kind.
        networks: how many networks to look at; unless given, until the tolerance is reached.
        tolerance: error of the drifts, relative to their spread, at which to stop.
        seed: the seed of all draws.
        out: directory for the result; an interrupted forecast is continued.
        engine: who looks at the networks, as in `estimate_geometry`; this process unless given.
            The bits are those of one process with one torch thread.
        workers: networks at once; by default the cores of this machine, or the scheduler's threads.
        on_progress: called with the number of networks so far and the error over the spread.
        shape: as in `network`.
        prediction: as in `network`.
        schedule: as in `network`.

    >>> import sads
    >>> forecast = sads.forecast("cnn,width=8", "gaussian", shape="1x4x4", networks=8)
    >>> forecast.networks, len(forecast.drift)
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
        workers=row_workers_for(
            *(engine, source, family, data, directions),
            steps=steps,
            workers=workers,
            prediction=prediction,
        ),
        on_progress=on_progress,
    )


def rank(
    networks: Sequence[Network],
    data: Data,
    *,
    shape: Shape | None = None,
    pilot: PilotProtocol | None = None,
    optimiser: Optimiser = "adam",
    weight_decay: float = 0.0,
    warm_up: int = 0,
    timestep_law: str | Float[np.ndarray, " T"] | None = None,
    loss_weights: str | Float[np.ndarray, " T"] | None = None,
    out: str | Path | None = None,
    prediction: Prediction | None = None,
    schedule: str | DiffusionPath | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Ranking:
    """Order architectures for a dataset.

    A score of untrained networks is used once one has passed its validation. Until then all
    candidates are trained for a short time, with the same batches and noise, and compared by their
    errors on held-out data. How often such an order was right is measured in `docs/learning.md`.

    Args:
        networks: two or more of what `network` takes, of one shape.
        data: in the data grammar, a dataset, or an array of samples, of which a sixth is held out.
        shape: shape of one sample, as in `network`.
        pilot: how the short trainings are made; if given, they are always made.
        optimiser: the optimiser of the short trainings, as in `forecast`.
        weight_decay: the weight decay of the short trainings, as in `forecast`.
        warm_up: steps over which the rate rises linearly.
        timestep_law: probability of each timestep in a batch.
        loss_weights: weight of each timestep in the loss.
        out: directory in which they are kept; a ranking that was stopped is continued.
        prediction: as in `network`, for all of them.
        schedule: as in `network`, for all of them.
        on_progress: called with the name of a network, the trainings done and the most there can
            be.

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
    path = families[0].schedule
    recipe = recipe_of(
        pilot,
        optimiser=optimiser,
        weight_decay=weight_decay,
        warm_up=warm_up,
        timestep_law=as_timestep_law(timestep_law, path),
        loss_weights=as_loss_weights(loss_weights, path),
    )
    return rank_families(
        families,
        training,
        held_out,
        pilot=pilot,
        recipe=recipe,
        out=None if out is None else Path(out),
        on_progress=on_progress,
    )
