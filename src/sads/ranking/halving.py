"""Successive halving with paired seeds: who is ahead, how sure that is, and who goes on.

Candidate a with seed s has the error R_as. All candidates of a seed share their batches, their
noise and the points at which they are measured, so two of them are compared by d_s = R_bs - R_as.
The probability that a is better than b is

    P(a before b) = F_{S-1}(mean_s d_s / (sd_s d_s / sqrt(S))),

F_{S-1} Student's distribution with as many degrees of freedom. The order of some candidates is
certain at a level if all its neighbours are in the right order with that probability: if the sum of
their 1 - P is at most 1 - level.

Each *rung* doubles the steps. After it the worse half leaves and keeps its places in the order.
The pilot ends as soon as the order of the others is certain.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

from scipy.special import stdtr

from ..statistics.means import mean_and_error, paired_differences

FIRST_LOOK = 20  # training steps; errors before that say little

BySeed = Mapping[int, float]


def probability_before(first: BySeed, second: BySeed) -> float:
    """The probability that the first candidate is better, from the seeds that both share.

    >>> probability_before({0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0})
    0.5
    """
    gaps = paired_differences(second, first)
    mean, error = mean_and_error(gaps)
    if error is None or mean == 0:
        return 0.5  # one seed has no spread to compare with
    if error == 0:
        return 1.0 if mean > 0 else 0.0
    return float(stdtr(len(gaps) - 1, mean / error))


def ordered(errors: Mapping[str, BySeed]) -> list[str]:
    """The names of the candidates, smallest mean error first."""
    return sorted(errors, key=lambda name: (mean_and_error(list(errors[name].values()))[0], name))


def certain(order: Sequence[str], errors: Mapping[str, BySeed], level: float) -> bool:
    """Whether the whole order is right with at least this probability."""
    doubts = [1 - probability_before(errors[a], errors[b]) for a, b in itertools.pairwise(order)]
    return math.fsum(doubts) <= 1 - level


def survivors(order: Sequence[str]) -> list[str]:
    """The better half, rounded up.

    >>> survivors(["a", "b", "c"])
    ['a', 'b']
    """
    return list(order[: math.ceil(len(order) / 2)])


def rungs(steps: int) -> list[int]:
    """Steps after which candidates are compared: halves of the last, the first not below 20.

    Even a short pilot has two rungs.

    >>> rungs(160), rungs(40), rungs(10)
    ([20, 40, 80, 160], [20, 40], [5, 10])
    """
    looks = [steps]
    while len(looks) < 2 or looks[0] // 2 >= FIRST_LOOK:
        looks.insert(0, looks[0] // 2)
    return [look for look in looks if look > 0]
