"""`sads rank`: which architecture suits a dataset, before any training."""

import json as jsonlib
from typing import Literal

from .options import Flag, Seed


def rank(
    *networks: str,
    data: str,
    shape: str | None = None,
    probe: str = "zero",
    tolerance: float | None = None,
    seed: Seed = 0,
    zero_output: Literal["explain", "last", "all"] = "explain",
    json: Flag = False,
) -> None:
    """Order architectures for a dataset by how it lies in their geometries, before any training.

    Example: `sads rank --data digits --shape 1x8x8 iddpm-16 iddpm-16,resampling=area cnn mlp`

    Args:
        networks: two or more, as `sads geometry` takes them, of one shape.
        data: the data, as `sads data --help` describes it; its training split by default.
        shape: shape of one sample, CxHxW, for all networks; presets have their own.
        probe: where the geometries are looked at, see `sads geometry --help`.
        tolerance: whitened error of each geometry, 0.02 unless given.
        seed: of all random draws.
        zero_output: what to do about networks that output zero at initialisation, see
            `sads geometry --help`.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..presentation.ranking import sentences, summary
    from .progress import families_bar

    with families_bar() as report:
        ranking = api.rank(
            networks,
            data,
            shape=shape,
            probe=probe,
            tolerance=tolerance,
            seed=seed,
            zero_output=zero_output,
            on_progress=report,
        )
    print(jsonlib.dumps(summary(ranking)) if json else "\n".join(sentences(ranking)))
