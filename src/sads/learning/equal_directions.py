"""Whether directions differ beyond their errors: networks are independent, directions are not.

Each network gives a number for every direction. Networks differ in how fast they learn as a whole,
so the numbers of one network go up and down together, and errors of single directions say little
about differences between them. So the mean over the directions, weighted by how well each is known,
is subtracted in every network. If all directions are equal, the rest has mean zero in every
network, and changing its sign in any fold of networks does not change its distribution:
`statistics.sign_flips` compares the data with all sign patterns. The p-value is then right for any
dependence between directions and any number of networks.
"""

import numpy as np
from jaxtyping import Float

from ..statistics.sign_flips import TIE, quadratic

FOLDS = 12  # at most, which gives 2,048 sign patterns


def equality(rows: Float[np.ndarray, "M k"]) -> float:
    """The p-value of the hypothesis that all columns have one mean.

    >>> equality(np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 6.1], [2.0, 3.0]]))
    0.125
    """
    spread = rows.var(axis=0, ddof=1)
    largest = float(spread.max()) or 1.0
    weights = 1 / np.maximum(spread / largest, 1e-12)
    own = rows @ weights / weights.sum()
    left = rows - own[:, None]
    # The scale does not depend on signs; with it, noisy directions do not decide alone.
    scale = np.sqrt(np.square(left).mean(axis=0))
    scaled = np.divide(left, scale, out=np.zeros_like(left), where=scale > 0)
    parts = np.array_split(scaled, min(FOLDS, len(rows)))
    folds = np.stack([part.sum(axis=0) for part in parts])
    statistics = quadratic((folds @ folds.T)[None])[:, 0]
    return float(np.mean(statistics >= statistics[0] - TIE))
