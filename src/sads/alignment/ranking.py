"""Which architecture suits a dataset, told before any training.

The score is how the data lies in the geometry at initialisation, free of both scales:

    s = D tr(G C) / (tr G tr C),      C = E[x x^T], not centred.

With eigenvalues lambda_i of G, of mean one, and the shares e_i of tr C on its eigenvectors,
s = sum_i e_i lambda_i: 1 for an isotropic geometry, below 1 where the data lies on small
eigenvalues, which the paper conjectures to be modelled well. The order is ascending.

*Errors.* Each score has the standard error of `align`: of the networks, and of the data as a sample.
The samples are the same for all architectures, so two scores share their error. With
psi_n = D x_n^T G x_n / (tr G tr C) - s |x_n|^2 / tr C, the influence of sample n,

    Var(s_a - s_b) = Var(s_a) + Var(s_b) - 2 sum_n psi_an psi_bn / (N (N - 1)).

Neighbours are *told apart* if the order of the true scores is that of the estimates with
probability 0.95, errors taken as normal. Every architecture draws its networks from a seed of its
own, so their errors are independent.

How far the score is right is another matter, and measured: see `validity`.
"""

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from ..data import Dataset
from ..errors import InputError
from ..geometry import Geometry, Probe, Progress, estimate_geometry
from ..networks import ScoreFamily
from .align import align
from .baselines import Baselines, baselines
from .moments import CHUNK, second_moment

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
    """

    network: str
    score: float
    score_error: float
    networks: int
    below_next: float | None
    baselines: Baselines


@dataclass(frozen=True)
class Ranking:
    """Architectures in ascending order of their score on a dataset.

    Attributes:
        data: name of the dataset.
        count: its samples.
        shape: of one sample.
        entries: the architectures, the one predicted to do best first.
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


@dataclass(frozen=True, eq=False)
class _Scored:
    """A score with what its comparison with others takes."""

    name: str
    score: float
    error: float
    networks: int
    influence: Float[np.ndarray, " N"]
    baselines: Baselines


def rank(
    families: Sequence[ScoreFamily],
    data: Dataset,
    *,
    probe: Probe,
    networks: int | None = None,
    tolerance: float | None = None,
    seed: int = 0,
    on_progress: Report | None = None,
) -> Ranking:
    """Order architectures for a dataset.

    Args:
        families: the architectures, of different names and the shape of the data.
        data: the dataset.
        probe: where the geometries are looked at.
        networks: untrained networks for each geometry, or
        tolerance: its whitened error, 0.02 if neither is given.
        seed: of all random draws.
        on_progress: called with the name and the progress of the geometry at hand.

    Raises:
        InputError: for fewer than two architectures, equal names or different shapes, and for
            data of another shape or that does not vary; before any network is drawn.
    """
    check_families(families)
    if seed < 0:
        raise InputError(f"a seed is a non-negative integer, got {seed}")
    second_moment(data, families[0].shape)  # bad data is refused before the work, not after it
    scored = []
    for family in families:
        report = None if on_progress is None else _named(on_progress, family.name)
        own = seed + zlib.crc32(family.name.encode())  # the same wherever it stands in the list
        geometry = estimate_geometry(
            family, probe=probe, networks=networks, tolerance=tolerance, seed=own, on_progress=report
        )
        scored.append(_score(family, geometry, data, seed))
    scored.sort(key=lambda found: (found.score, found.name))
    following = [_probability(a, b) for a, b in zip(scored, scored[1:], strict=False)]
    entries = (
        Entry(found.name, found.score, found.error, found.networks, below, found.baselines)
        for found, below in zip(scored, [*following, None], strict=True)
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
                f"{first.name} takes samples of {a}, {family.name} of {b}: pass one --shape for all"
            )


def _named(report: Report, name: str) -> Callable[[Progress], None]:
    return lambda progress: report(name, progress)


def _score(family: ScoreFamily, geometry: Geometry, data: Dataset, seed: int) -> _Scored:
    found = align(geometry, data)
    return _Scored(
        family.name,
        found.relative,
        found.relative_error,
        geometry.networks,
        _influence(geometry, data, found.relative),
        baselines(family, data.samples, seed=seed),
    )


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


def _probability(a: _Scored, b: _Scored) -> float:
    """That the true score of a is below that of b."""
    difference = b.score - a.score
    if difference <= ROUNDING:
        return 0.5
    count = len(a.influence)
    shared = float(a.influence @ b.influence) / (count * max(count - 1, 1))
    variance = a.error**2 + b.error**2 - 2 * shared
    if variance <= 0:
        return 1.0
    return float(norm.cdf(difference / math.sqrt(variance)))
