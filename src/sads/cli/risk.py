"""`sads risk`: the error of a trained network by direction and noise level."""

import json as jsonlib
from pathlib import Path

from ..foundation.choices import RiskOf
from .options import Flag, Seed


def risk(
    trained: str,
    other: str | None = None,
    *,
    data: str,
    directions: str | None = None,
    weights: list[Path] | None = None,
    shape: str | None = None,
    exact: Flag = False,
    timestep_law: str = "uniform",
    loss_weights: str = "uniform",
    of: RiskOf = "noise",
    sigmas: str | None = None,
    tolerance: float = 0.02,
    seed: Seed = 0,
    png: Path | None = None,
    force: Flag = False,
    json: Flag = False,
) -> None:
    """Measure the error of a trained network along each direction, at each noise level.

    For Gaussian, rank-one and sphere data it is the exact excess over the optimum. For other data
    it is the held-out loss. For two trainings it is their difference, with the same samples and
    noise.

    Example: `sads risk runs/rank-one --data rank-one:dct:0 --png risk.png`

    Args:
        trained: directory that `sads train` wrote, or a network in the grammar with `--weights`.
        other: a second training or network; the result is the second minus the first.
        data: the data, as `sads data --help` describes it; its held-out split by default.
        directions: `geometry=DIR`, `dct`, `dct:bands=K`, `means`, `canonical` or `npy:FILE`; 16
            bands of frequency unless given.
        weights: a safetensors file with the parameters of the network, trained elsewhere
            (`FILE.safetensors:PREFIX` where it holds them more than once); given twice, two
            checkpoints are compared.
        shape: shape of one sample, CxHxW, for a network in the grammar.
        exact: stop with an error if the optimum of the data is not known.
        timestep_law: law of timesteps in the total: `uniform`, `logit-normal:MEAN,STD` or
            `npy:FILE`.
        loss_weights: weights by timestep in the total: `uniform`, `x0`, `v`, `min-snr:GAMMA` or
            `npy:FILE`.
        of: the error of the `noise`, or of the `clean` sample, the denoised image.
        sigmas: ratios of noise to signal over which the total is averaged, as `0.1,1,10`; all
            timesteps unless given.
        tolerance: relative standard error of the total at which to stop.
        seed: the seed of all draws.
        png: write a heat map of the error by direction and noise level to this file.
        force: replace an existing picture.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..presentation.risk import risk_sentences, risk_summary
    from ..specs.grammar import parse_numbers
    from ..storage.files import refuse_existing
    from .progress import waiting

    if png is not None:
        refuse_existing(png, force=force)
    with waiting(f"measuring {trained}"):
        measured = api.risk(
            trained,
            other,
            data=data,
            directions=directions,
            weights=weights,
            shape=shape,
            exact=exact,
            timestep_law=timestep_law,
            loss_weights=loss_weights,
            of=of,
            sigmas=None if sigmas is None else parse_numbers("sigmas", sigmas),
            tolerance=tolerance,
            seed=seed,
        )
    if png is not None:
        from ..presentation.plots.directions import save_figure
        from ..presentation.plots.risk import draw_risk

        named = _named(trained, other, weights or [])
        save_figure(draw_risk(measured, f"{named} on {data}"), png)
    lines = risk_sentences(measured)
    if (timestep_law, loss_weights) != ("uniform", "uniform"):
        lines.append("All but the nats weight the timesteps as this loss does.")
    print(jsonlib.dumps(risk_summary(measured)) if json else "\n".join(lines))


def _named(trained: str, other: str | None, weights: list[Path]) -> str:
    """The title of the picture: a network, or the second minus the first."""
    names = [trained] if other is None else [trained, other]
    files = [path.name for path in weights]
    if len(files) > len(names):
        names = files
    return names[0] if len(names) == 1 else f"{names[1]} minus {names[0]}"
