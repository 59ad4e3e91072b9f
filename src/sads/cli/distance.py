"""`sads distance`: how far two sets of samples are apart."""

import json as jsonlib
from typing import Annotated

from cyclopts import Parameter

from .options import Seed


def distance(
    a: str,
    b: str,
    *,
    shape: str | None = None,
    projections: int | None = None,
    seed: Seed = 0,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Measure sliced and max-sliced Wasserstein distances between two sets of samples.

    Example: `sads distance npy:samples.npy digits,size=16,split=held-out`

    Args:
        a: in the data grammar, see `sads data --help`; all but arrays are their held-out split
            unless they name another.
        b: likewise.
        shape: shape of one sample, CxHxW, where neither tells it.
        projections: random directions; 64 for each dimension unless given.
        seed: of directions and permutations.
        json: print the result as one JSON object.
    """
    from .. import api
    from .progress import waiting

    with waiting("projecting and sorting"):
        result = api.distance(a, b, shape=shape, projections=projections, seed=seed)
    if json:
        print(jsonlib.dumps(result.to_dict()))
        return
    error = "" if result.standard_error is None else f" +- {result.standard_error:.4f}"
    print(
        f"SW2 {result.sw2:.4f}{error}, MSW2 {result.msw2:.4f} over "
        f"{result.projections:,} random directions."
    )
    print(
        f"MSW2 in the worst direction found {result.msw2_optimised:.4f}, where equal "
        f"distributions give {result.msw2_null:.4f}: p = {result.p_value:.3g}."
    )
    if result.w2_direction is not None:
        print(
            f"W2 along the data's own direction, against its exact law: {result.w2_direction:.4f}."
        )
