"""`sads forecast`: what training will do along each direction, before any training."""

import json as jsonlib
from pathlib import Path

from ..foundation.choices import ForecastMethod, Optimiser
from .options import Flag, Seed


def forecast(
    network: str,
    *,
    data: str,
    shape: str | None = None,
    directions: str | None = None,
    optimiser: Optimiser = "adam",
    learning_rate: float = 1e-3,
    batch_size: int = 64,
    weight_decay: float = 0.0,
    warm_up: int = 0,
    steps: int = 300,
    timestep_law: str = "uniform",
    loss_weights: str = "uniform",
    method: ForecastMethod = "auto",
    networks: int | None = None,
    tolerance: float = 0.1,
    seed: Seed = 0,
    out: Path | None = None,
    engine: str | None = None,
    workers: int | None = None,
    png: Path | None = None,
    force: Flag = False,
    json: Flag = False,
) -> None:
    """Forecast what training learns early, what late and what stays noisy, direction by direction.

    Example: `sads forecast iddpm-16 --shape 1x8x8 --data digits --png forecast.png`

    Args:
        network: as `sads geometry` takes it.
        data: in the data grammar, see `sads data --help`; its training split by default.
        shape: shape of one sample, CxHxW; presets have their own.
        directions: `geometry=DIR`, `dct`, `dct:bands=K`, `means`, `canonical` or `npy:FILE`; 16
            bands of frequency unless given.
        optimiser: the optimiser of the training that is forecast.
        learning_rate: its rate after the warm-up.
        batch_size: samples in each step.
        weight_decay: weight decay of `adamw` and `sgd`.
        warm_up: steps over which the rate rises.
        steps: planned steps; the tangent flow and the pilot use no more than these.
        timestep_law: law of timesteps in a batch: `uniform`, `logit-normal:MEAN,STD` or
            `npy:FILE`.
        loss_weights: weights by timestep: `uniform`, `x0`, `v`, `min-snr:GAMMA` or `npy:FILE`.
        method: `one step`, `tangent flow` and `pilot` cost more in this order; `auto` takes the
            cheapest that has been right about networks of this kind.
        networks: fresh networks to look at; unless given, until the tolerance is reached or it is
            clear that there is no order to find.
        tolerance: error of the drifts, relative to their spread, at which to stop.
        seed: the seed of all random draws.
        out: directory for the result; an interrupted forecast is continued from there.
        engine: who looks at the networks: `local` (processes on this machine), `dask` (a cluster on
            this machine) or `dask:ADDRESS` (a scheduler); this process unless given.
        workers: networks at once; by default the number of cores of this machine, or of threads of
            the scheduler.
        png: write a picture of drift and noise of every band to this file.
        force: replace an existing picture.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..presentation.forecast import forecast_summary, text
    from ..storage.files import refuse_existing
    from .progress import forecast_bar

    if png is not None:
        refuse_existing(png, force=force)
    with forecast_bar(network, networks) as report:
        result = api.forecast(
            network,
            data,
            shape=shape,
            directions=directions,
            optimiser=optimiser,
            learning_rate=learning_rate,
            batch_size=batch_size,
            weight_decay=weight_decay,
            warm_up=warm_up,
            steps=steps,
            timestep_law=timestep_law,
            loss_weights=loss_weights,
            method=method,
            networks=networks,
            tolerance=tolerance,
            seed=seed,
            out=out,
            engine=engine,
            workers=workers,
            on_progress=report,
        )
    if png is not None:
        from ..presentation.plots.directions import save_figure
        from ..presentation.plots.forecast import draw_forecast

        save_figure(draw_forecast(result, f"{network} on {data}"), png)
    print(jsonlib.dumps(forecast_summary(result)) if json else text(result))
    if out is not None and not json:
        print(f"Saved in {out}; the same command with more --networks continues from there.")
