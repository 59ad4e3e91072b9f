"""`sads distance`: how far two sets of samples are apart."""

import json as jsonlib

from .options import Flag, Seed


def distance(
    a: str,
    b: str,
    *,
    shape: str | None = None,
    projections: int | None = None,
    seed: Seed = 0,
    json: Flag = False,
) -> None:
    """Measure sliced and max-sliced Wasserstein distances between two sets of samples.

    Example: `sads distance npy:samples.npy digits,size=16,split=held-out`

    Args:
        a: some data, as `sads data --help` describes it; its held-out split unless it names
            another or is an array.
        b: the data to compare it with, described in the same way.
        shape: shape of one sample, CxHxW, if neither has a shape of its own.
        projections: random directions; 64 for each dimension unless given.
        seed: the seed of directions and permutations.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..presentation.distance import sentences
    from .progress import waiting

    with waiting("projecting and sorting"):
        result = api.distance(a, b, shape=shape, projections=projections, seed=seed)
    print(jsonlib.dumps(result.to_dict()) if json else "\n".join(sentences(result)))
