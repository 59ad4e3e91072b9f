"""`sads rank`: which architecture suits a dataset."""

import json as jsonlib
from pathlib import Path

from ..foundation.choices import Criterion, Optimiser
from .options import Flag, Seed


def rank(
    *networks: str,
    data: str,
    shape: str | None = None,
    pilot: Flag = False,
    steps: int = 40,
    seeds: int = 4,
    by: Criterion = "constant",
    level: float = 0.95,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    optimiser: Optimiser = "adam",
    weight_decay: float = 0.0,
    warm_up: int = 0,
    timestep_law: str = "uniform",
    loss_weights: str = "uniform",
    out: Path | None = None,
    seed: Seed = 0,
    json: Flag = False,
) -> None:
    """Order architectures for a dataset, and say how often such orders have been right.

    A score of untrained networks is used once one has passed its validation. Until then
    all candidates are trained for a short time with the same batches and noise, and compared by
    their errors on held-out data. They are compared after half of the steps, and before that after
    a quarter and so on, down to 20 steps. Each time the worse half is dropped, and the pilot ends
    as soon as the order is certain.

    Example: `sads rank --data digits --shape 1x8x8 iddpm-16 iddpm-16,groups=8 cnn mlp`

    Args:
        networks: two or more, as `sads geometry` takes them, of one shape.
        data: the data, as `sads data --help` describes it; trained on its training split, measured
            on its held-out split.
        shape: shape of one sample, CxHxW, for all networks; presets have their own.
        pilot: train for a short time, even if a zero-cost score has passed its validation.
        steps: the largest number of steps of a short training.
        seeds: the number of short trainings of each network.
        by: order by the error along the `constant` images, or in `total`.
        level: probability at which an order is certain.
        batch_size: samples in each batch of the short trainings.
        learning_rate: their learning rate, after the warm-up.
        optimiser: their optimiser.
        weight_decay: weight decay of `adamw` and `sgd`.
        warm_up: steps over which the rate rises.
        timestep_law: law of timesteps in a batch: `uniform`, `logit-normal:MEAN,STD` or
            `npy:FILE`.
        loss_weights: weights by timestep: `uniform`, `x0`, `v`, `min-snr:GAMMA` or `npy:FILE`.
        out: directory in which they are kept; the same command continues from there.
        seed: the seed of all random draws.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..presentation.ranking import sentences, summary
    from ..ranking import PilotProtocol
    from .progress import steps_bar

    protocol = PilotProtocol(
        steps=steps,
        seeds=seeds,
        level=level,
        by=by,
        batch_size=batch_size,
        learning_rate=learning_rate,
        seed=seed,
    )
    asked = pilot or protocol != PilotProtocol()
    with steps_bar("short trainings") as report:
        ranking = api.rank(
            networks,
            data,
            shape=shape,
            pilot=protocol if asked else None,
            optimiser=optimiser,
            weight_decay=weight_decay,
            warm_up=warm_up,
            timestep_law=timestep_law,
            loss_weights=loss_weights,
            out=out,
            on_progress=lambda name, done, most: report(done, most, name),
        )
    print(jsonlib.dumps(summary(ranking)) if json else "\n".join(sentences(ranking)))
