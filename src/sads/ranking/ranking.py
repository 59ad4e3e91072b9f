"""Which architecture suits a dataset, told before any training.

The score is how the data lies in the geometry at initialisation, free of both scales:

    s = D tr(G C) / (tr G tr C),      C = E[x x^T], not centred.

With eigenvalues lambda_i of G, of mean one, and the shares e_i of tr C on its eigenvectors,
s = sum_i e_i lambda_i: 1 for an isotropic geometry, below 1 where the data lies on small
eigenvalues, which the paper conjectures to be modelled well. The order is ascending.

*Errors.* Each score has the standard error of `align`: of the networks, and of the data as a
sample. The samples are the same for all architectures, so two scores share their error. With
psi_n = D x_n^T G x_n / (tr G tr C) - s |x_n|^2 / tr C, the influence of sample n,

    Var(s_a - s_b) = Var(s_a) + Var(s_b) - 2 sum_n psi_an psi_bn / (N (N - 1)).

Neighbours are *told apart* if the order of the true scores is that of the estimates with
probability 0.95, errors taken as normal. Every architecture draws its networks from a seed of its
own, so their errors are independent.

How far the score is right is another matter, and measured: see `validity`.
"""

import itertools
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from ..alignment import align, second_moment
from ..alignment.moments import CHUNK
from ..data import Dataset
from ..errors import InputError
from ..frames import as_frame
from ..geometry import Geometry, Probe, Progress, estimate_geometry
from ..geometry.plan import Plan
from ..networks import ScoreFamily
from ..networks.adapters import Assumptions
from ..randomness import checked_seed, stream
from .baselines import Baselines, baselines

if TYPE_CHECKING:
    import pandas

TOLD_APART = 0.95
ROUNDING = 1e-9  # scores closer than this are equal

Report = Callable[[str, Progress], None]


@dataclass(frozen=True)
class Entry:
    """One architecture in a ranking.

    Attributes:
        network: its name.
        score: s; lower is predicted to do better.
        score_error: its standard error.
        networks: untrained networks behind the geometry; 0 where it is exact.
        below_next: probability that its true score is below that of the next; None for the last.
        baselines: zero-cost scores of the same architecture.
        assumptions: what it is taken for.
    """

    network: str
    score: float
    score_error: float
    networks: int
    below_next: float | None
    baselines: Baselines
    assumptions: Assumptions | None


@dataclass(frozen=True)
class Ranking:
    """Architectures in ascending order of their score on a dataset.

    Attributes:
        data: name of the dataset.
        count: its samples.
        shape: of one sample.
        entries: the architectures, the one predicted to do best first.

    >>> import sads
    >>> ranking = sads.rank(["cnn", "mlp"], "digits", shape="1x8x8", tolerance=0.2)
    >>> ranking.entries[0].score < ranking.entries[1].score
    True
    """

    data: str
    count: int
    shape: tuple[int, ...]
    entries: tuple[Entry, ...]

    @property
    def ties(self) -> tuple[tuple[str, ...], ...]:
        """Runs of neighbours that are not told apart."""
        groups: list[list[str]] = [[]]
        for entry in self.entries:
            groups[-1].append(entry.network)
            if entry.below_next is not None and entry.below_next >= TOLD_APART:
                groups.append([])
        return tuple(tuple(group) for group in groups if len(group) > 1)

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each architecture and its baselines; needs pandas."""
        own = ("network", "score", "score_error", "networks", "below_next")
        return as_frame(
            {name: getattr(entry, name) for name in own} | asdict(entry.baselines)
            for entry in self.entries
        )


@dataclass(frozen=True, eq=False)
class Score:
    """A score with what its comparison with others on the same data takes.

    Attributes:
        value: s.
        error: its standard error.
        influence: psi_n of each sample.
    """

    value: float
    error: float
    influence: Float[np.ndarray, " N"]


def rank_families(
    families: Sequence[ScoreFamily],
    data: Dataset,
    *,
    probe: Probe,
    tolerance: float | None = None,
    zero_output: str = "explain",
    seed: int = 0,
    on_progress: Report | None = None,
) -> Ranking:
    """Order architectures for a dataset.

    Args:
        families: the architectures, of different names and the shape of the data.
        data: the dataset.
        probe: where the geometries are looked at.
        tolerance: whitened error of each geometry, 0.02 if not given.
        zero_output: what to do about networks that output zero, as in `estimate_geometry`.
        seed: of all random draws.
        on_progress: called with the name and the progress of the geometry at hand.

    Raises:
        InputError: for fewer than two architectures, equal names or different shapes, and for
            data of another shape or that does not vary; before any network is drawn.
    """
    check_families(families)
    checked_seed(seed)
    second_moment(data, families[0].shape)  # bad data is refused before the work, not after it
    found: list[tuple[Score, Plan, int, Baselines]] = []
    for family in families:
        report = None if on_progress is None else partial(on_progress, family.name)
        # The same wherever it stands in the list.
        names = stream(seed, "networks of a ranking", zlib.crc32(family.name.encode()))
        own = int(names.integers(2**62))
        geometry = estimate_geometry(
            family,
            probe=probe,
            tolerance=tolerance,
            seed=own,
            zero_output=zero_output,
            on_progress=report,
        )
        beside = baselines(family, data.samples, seed=seed)
        found.append((measure(geometry, data), geometry.plan, geometry.networks, beside))
    found.sort(key=lambda one: (one[0].value, one[1].network))
    below = [probability_below(a[0], b[0]) for a, b in itertools.pairwise(found)]
    entries = (
        Entry(
            *(plan.network, score.value, score.error, networks, following),
            *(beside, plan.assumptions),
        )
        for (score, plan, networks, beside), following in zip(found, [*below, None], strict=True)
    )
    return Ranking(data.name, len(data), data.shape, tuple(entries))


def check_families(families: Sequence[ScoreFamily]) -> None:
    """Raise unless there are at least two, of different names and one shape."""
    if len(families) < 2:
        raise InputError(f"a ranking takes at least two networks, got {len(families)}")
    first, names = families[0], set[str]()
    for family in families:
        if family.name in names:
            raise InputError(
                f"two networks are called {family.name}: leave one out, or give families names of "
                "their own"
            )
        names.add(family.name)
        if family.shape != first.shape:
            a, b = ("x".join(map(str, f.shape)) for f in (first, family))
            raise InputError(
                f"{first.name} takes samples of {a}, {family.name} of {b}: choose one shape for all"
            )


def measure(geometry: Geometry, data: Dataset) -> Score:
    """The score of a geometry on a dataset."""
    found = align(geometry, data)
    return Score(found.relative, found.relative_error, _influence(geometry, data, found.relative))


def difference_error(a: Score, b: Score) -> float:
    """Standard error of the difference of two scores on the same data."""
    count = len(a.influence)
    shared = float(a.influence @ b.influence) / (count * max(count - 1, 1))
    return math.sqrt(max(a.error**2 + b.error**2 - 2 * shared, 0.0))


def probability_below(a: Score, b: Score) -> float:
    """That the true score of a is below that of b, where its estimate is."""
    difference, error = b.value - a.value, difference_error(a, b)
    if difference <= ROUNDING:
        return 0.5
    return float(norm.cdf(difference / error)) if error > 0 else 1.0


def _influence(geometry: Geometry, data: Dataset, score: float) -> Float[np.ndarray, " N"]:
    """psi_n: how each sample moves the score."""
    size = geometry.structure.size
    parts, energy = [], 0.0
    for start in range(0, len(data), CHUNK):
        x = data.samples[start : start + CHUNK].reshape(-1, size).astype(np.float64)
        squares = np.square(x).sum(axis=1)
        forms = np.einsum("ij,ij->i", x, geometry.matvec(x)) * size / geometry.trace
        parts.append(forms - score * squares)
        energy += float(squares.sum())
    return np.concatenate(parts) / (energy / len(data))
