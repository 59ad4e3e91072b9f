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
        found = api.distance(a, b, shape=shape, projections=projections, seed=seed)
    if json:
        print(jsonlib.dumps(found))
        return
    error = "" if found["standard_error"] is None else f" +- {found['standard_error']:.4f}"
    print(
        f"SW2 {found['sw2']:.4f}{error}, MSW2 {found['msw2']:.4f} over "
        f"{found['projections']:,} random directions."
    )
    print(
        f"MSW2 in the worst direction found {found['msw2_optimised']:.4f}, where equal "
        f"distributions give {found['msw2_null']:.4f}: p = {found['p_value']:.3g}."
    )
    if found["w2_direction"] is not None:
        print(
            f"W2 along the data's own direction, against its exact law: "
            f"{found['w2_direction']:.4f}."
        )
