"""Which ways of ranking architectures tell what their trainings give.

    python benchmarks/ranking.py [--pool FILE.toml ...] [--mnist DIR] [--report] [--workers N]

A pool is a sweep: networks, data, seeds and a protocol. `ranking.toml` is the first and
`ranking-second.toml` the second; both are read unless others are named. `--mnist` trains their
networks on MNIST at 8x8 too. Outcomes are kept in `docs/results/POOL.csv`; the trials
that have no row there are run as a sweep under `runs/POOL`, so that the same command goes on with
an interrupted run. `--report` computes nothing that is not in the tables.

Two kinds of order are compared with that of held-out SW2, the mean over the seeds that all networks
have: by scores known before training (rows: `POOL-scores.csv`), and by the pilot of `sads rank`
with its default protocol (rows: `POOL-pilot.csv`). What is in these tables is not computed again.
All of it was fixed before it was compared with an outcome. With C the data's second moment and G
the geometry at initialisation, of eigenvalues lambda_i with mean 1 and eigenvectors that hold the
shares e_i of tr C:

| score        | definition                                                           | better |
|--------------|----------------------------------------------------------------------|--------|
| `alignment`  | sum_i e_i lambda_i = D tr(GC) / (tr G tr C)                          | low    |
| `root`       | the same with G^(1/2) for G                                          | low    |
| `square`     | the same with G^2 for G                                              | low    |
| `log`        | sum_i e_i log max(lambda_i, 1/1000)                                  | low    |
| `top`        | sum of e_i where lambda_i > 2                                        | low    |
| `centred`    | `alignment` with the covariance for C                                | low    |
| `anisotropy` | mean of lambda_i^2, a control that does not see the data             | low    |
| `parameters` | their number                                                         | high   |
| `synflow`    | SynFlow                                                              | high   |
| `jacobian`   | covariance of input Jacobians                                        | high   |

The pilot's order is its place, by the error along the constant images or in total.

Correlations are Spearman's, signed so that positive means that the order is right, with a two-sided
permutation p-value and a bootstrap interval over architectures, each dataset and each pool by
itself. A dataset that two pools share has a third row for both: the mean of their correlations,
weighted by networks - 1, with permutations and bootstrap within the pools.

**The second pool was registered after the pilot's protocol and criterion were fixed** and before
any of its networks was trained: ten networks that are not in the first pool, its protocol and
seeds. What is judged there is the order of the pilot by the error along the constant images, with
the default protocol; a correlation of 0.7 is aimed at, there and over both pools.
"""

import argparse
import csv
import io
import itertools
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import stats

from sads.alignment import align
from sads.data import Dataset
from sads.geometry import Geometry, estimate_geometry
from sads.ranking import PilotProtocol, rank_families
from sads.ranking.pilot_protocol import CRITERIA
from sads.ranking.validity import FILE as VALIDITY_FILE
from sads.ranking.validity import Validity
from sads.ranking.zero_cost import zero_cost_scores
from sads.specs.coercion import as_dataset, as_family, as_splits
from sads.statistics.means import mean_and_error, paired_values
from sads.statistics.ranks import rank_correlation
from sads.statistics.resampling import bootstrap_interval, p_value, percentiles
from sads.storage.files import atomic_write, write_bytes
from sads.sweep import Specification, load_specification, read_rows, run_sweep

FIRST_POOL, SECOND_POOL = (
    Path(__file__).with_name(f"{name}.toml") for name in ("ranking", "ranking-second")
)
CALLED = {FIRST_POOL.stem: "first", SECOND_POOL.stem: "second"}
BOTH = "both"
LOW_IS_BETTER = ("alignment", "root", "square", "log", "top", "centred", "anisotropy")
HIGH_IS_BETTER = ("parameters", "synflow", "jacobian")
TOLD = ("alignment", *HIGH_IS_BETTER)  # beside the pilot, by `sads rank` and `sads report`
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
RUNS = Path("runs")

Row = TypeVar("Row")


@dataclass(frozen=True)
class Outcome:
    """One training and what came of it."""

    dataset: str
    network: str
    seed: int
    protocol: str
    sw2: float
    loss: float
    seconds: float


@dataclass(frozen=True)
class Scores:
    """What is known of an architecture before training, and how its trainings ended."""

    dataset: str
    network: str
    alignment: float
    alignment_error: float
    root: float
    square: float
    log: float
    top: float
    centred: float
    anisotropy: float
    parameters: int
    synflow: float | None
    jacobian: float | None
    seeds: int
    sw2: float
    sw2_error: float | None


@dataclass(frozen=True)
class Place:
    """Where the pilot put an architecture, ordered by one of its errors."""

    dataset: str
    network: str
    by: str
    place: int
    constant: float | None
    total: float | None
    steps: int
    before_next: float | None


@dataclass(frozen=True)
class Pool:
    """A pool of networks on some datasets.

    Attributes:
        name: of its files.
        plan: its trials.
        sources: data by the name that its rows have.
    """

    name: str
    plan: Specification
    sources: dict[str, str]

    @classmethod
    def read(cls, path: Path, mnist: Path | None) -> "Pool":
        plan = load_specification(path)
        sources = {str(data): str(data) for grid in plan.grid for data in grid.data or ()}
        if mnist is not None:
            sources["mnist-8"] = f"npy:{mnist_at_8(mnist)}"
        return cls(path.stem, plan, sources)

    @property
    def networks(self) -> list[str]:
        return [str(network) for grid in self.plan.grid for network in grid.networks]

    @property
    def shape(self) -> str:
        return str(self.plan.grid[0].shape)

    @property
    def protocol(self) -> str:
        p = self.plan.protocol
        return (
            f"{p.iterations} steps of {p.batch_size} at {p.learning_rate}, {p.samples} samples in "
            f"{p.steps} steps"
        )


def mnist_at_8(directory: Path) -> Path:
    """A file of MNIST's 28x28 images padded to 32x32 and averaged over cells of 4x4.

    10,000 training images and 2,000 of the test files, which a sweep mixes and splits again.
    """
    path = RUNS / "mnist-8.npy"
    if not path.exists():
        counts = {"train": 10_000, "held-out": 2_000}
        parts = [
            as_dataset(f"mnist:{directory},count={count},split={split}").samples
            for split, count in counts.items()
        ]
        padded = np.pad(np.concatenate(parts), ((0, 0), (0, 0), (2, 2), (2, 2)), constant_values=-1)
        cells = padded.reshape(-1, 1, 8, 4, 8, 4).mean(axis=(3, 5)).astype(np.float32)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, cells)
    return path


def read_table(name: str, kind: type[Row]) -> list[Row]:
    """The rows of a table of the results; none if there is no such table."""
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [kind(**{k: cell(v) for k, v in row.items()}) for row in csv.DictReader(file)]


def cell(text: str) -> int | float | str | None:
    """What stands in a cell of a table."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text or None


def write_table(name: str, rows: Sequence[Any]) -> None:
    """Dataclasses as a table of the results, whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(asdict(rows[0]))
    for row in rows:
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in astuple(row)])
    atomic_write(RESULTS / f"{name}.csv", write_bytes(text.getvalue().encode()))


def train_missing(pool: Pool, workers: int | None) -> None:
    """Run the trials without an outcome as a sweep, and add theirs to the table."""
    known = read_table(pool.name, Outcome)
    done = {(o.dataset, o.network, o.seed) for o in known}
    grids = [
        {"networks": networks, "shape": pool.shape, "data": [source], "seeds": [seed]}
        for dataset, source in pool.sources.items()
        for seed in pool.plan.seeds
        if (networks := [n for n in pool.networks if (dataset, n, seed) not in done])
    ]
    if not grids:
        return
    plan = Specification.model_validate(
        pool.plan.model_dump(exclude={"grid"}) | {"protocol": _preset(pool), "grid": grids}
    )
    out = RUNS / pool.name
    run_sweep(plan, out, workers=workers)
    names = {source: dataset for dataset, source in pool.sources.items()}
    for row in read_rows(out)[1]:
        if row["status"] == "done":
            known.append(
                Outcome(
                    names[row["data"]],
                    row["network"],
                    row["seed"],
                    pool.protocol,
                    row["sw2"],
                    row["loss"],
                    sum(row[f"{part}_seconds"] for part in ("train", "sample", "distance")),
                )
            )
    write_table(pool.name, known)


def _preset(pool: Pool) -> dict[str, Any]:
    return {"preset": "laptop"} | pool.plan.protocol.model_dump()


def outcomes(pool: Pool, dataset: str) -> tuple[int, dict[str, list[float]]]:
    """Number of seeds that all networks have, and SW2 of each network with them."""
    own = [o for o in read_table(pool.name, Outcome) if o.dataset == dataset]
    seeds, sw2 = paired_values((o.network, o.seed, o.sw2) for o in own)
    return len(seeds), sw2


def score_missing(pool: Pool) -> None:
    """Compute the scores that have no row yet."""
    name = f"{pool.name}-scores"
    known = read_table(name, Scores)
    done = {(row.dataset, row.network) for row in known}
    for dataset, network in itertools.product(pool.sources, pool.networks):
        if (dataset, network) in done:
            continue
        family = as_family(network, shape=pool.shape)
        data, _ = as_splits(pool.sources[dataset], shape=family.shape)
        geometry = estimate_geometry(family, out=RUNS / "geometries" / family.fingerprint)
        aligned = align(geometry, data)
        beside = zero_cost_scores(family, data.samples)
        seeds, sw2 = outcomes(pool, dataset)
        mean, error = mean_and_error(sw2[network])
        row = Scores(
            dataset=dataset,
            network=network,
            alignment=aligned.relative,
            alignment_error=aligned.relative_error,
            **alternatives(geometry, data),
            parameters=beside.parameters,
            synflow=beside.synflow,
            jacobian=beside.jacobian,
            seeds=seeds,
            sw2=mean,
            sw2_error=error,
        )
        known.append(row)
        write_table(name, known)


def alternatives(geometry: Geometry, data: Dataset) -> dict[str, float]:
    """Other readings of the same geometry; see the table above."""
    x = data.samples.reshape(len(data), -1).astype(float)
    values, vectors = np.linalg.eigh(geometry.matrix())
    values = np.maximum(values, 0) / values.mean()
    shares = np.square(x @ vectors).mean(axis=0)
    shares /= shares.sum()
    spread = np.square((x - x.mean(axis=0)) @ vectors).mean(axis=0)
    return {
        "root": float(shares @ np.sqrt(values) / np.sqrt(values).mean()),
        "square": float(shares @ values**2 / (values**2).mean()),
        "log": float(shares @ np.log(np.maximum(values, 1e-3))),
        "top": float(shares[values > 2].sum()),
        "centred": float(spread @ values / spread.sum()),
        "anisotropy": float((values**2).mean()),
    }


def pilot_missing(pool: Pool) -> None:
    """Run the pilots that have no rows yet."""
    name = f"{pool.name}-pilot"
    known = read_table(name, Place)
    done = {(row.dataset, row.by) for row in known}
    for dataset, by in itertools.product(pool.sources, CRITERIA):
        if (dataset, by) in done:
            continue
        families = [as_family(network, shape=pool.shape) for network in pool.networks]
        ranking = rank_families(
            families,
            *as_splits(pool.sources[dataset], shape=families[0].shape),
            pilot=PilotProtocol(by=by),
            out=RUNS / f"{pool.name}-pilot",
            on_progress=lambda *work: print(*work, file=sys.stderr, flush=True),
        )
        known += [
            Place(dataset, e.network, by, place, e.constant, e.total, e.steps, e.before_next)
            for place, e in enumerate(ranking.entries, start=1)
        ]
        write_table(name, known)


def spearman(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Spearman's correlation, ties at their mean rank, and its two-sided permutation p-value."""
    x, y = stats.rankdata(x), stats.rankdata(y)

    def correlation(a: np.ndarray, axis: int = -1) -> np.ndarray:
        a = a - a.mean(axis=axis, keepdims=True)
        b = y - y.mean()
        return (a * b).sum(axis=axis) / np.sqrt((a**2).sum(axis=axis) * (b**2).sum())

    tested = stats.permutation_test(
        (x,),
        correlation,
        permutation_type="pairings",
        n_resamples=99_999,
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    return float(tested.statistic), float(tested.pvalue)


def validity(pool: str, dataset: str, score: str, values: np.ndarray, sw2: np.ndarray) -> Validity:
    """How an order compares with the outcome; low values are expected to do well."""
    rho, p = spearman(values, sw2)
    low, high = bootstrap_interval(
        len(sw2), lambda chosen: rank_correlation(values[chosen], sw2[chosen])
    )
    interval = (round(low, 3), round(high, 3))
    return Validity(dataset, score, len(sw2), round(rho, 3), interval, round(p, 4), pool)


def pooled(dataset: str, score: str, pools: Sequence[tuple[np.ndarray, np.ndarray]]) -> Validity:
    """The same over several pools: correlations within each, weighted by networks - 1."""
    sizes = [len(sw2) for _, sw2 in pools]
    weights = np.array(sizes) - 1.0
    generator = np.random.default_rng(0)

    def mean(chosen: Sequence[np.ndarray], orders: Sequence[np.ndarray]) -> float:
        each = [
            rank_correlation(values[own], sw2[other])
            for (values, sw2), own, other in zip(pools, chosen, orders, strict=True)
        ]
        return float(np.average(each, weights=weights))

    every = [np.arange(size) for size in sizes]
    rho = mean(every, every)
    chance = np.array(
        [mean(every, [generator.permutation(size) for size in sizes]) for _ in range(9_999)]
    )
    draws = []
    for _ in range(2_000):
        chosen = [generator.integers(size, size=size) for size in sizes]
        draws.append(mean(chosen, chosen))
    low, high = percentiles(np.array(draws))
    p = p_value(abs(rho), np.abs(chance), tie=1e-9)
    interval = (round(low, 3), round(high, 3))
    return Validity(dataset, score, sum(sizes), round(rho, 3), interval, round(p, 4), BOTH)


def orders(pool: Pool, dataset: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Every order on one dataset with the outcome, from the tables; low is expected to do well."""
    scores = [row for row in read_table(f"{pool.name}-scores", Scores) if row.dataset == dataset]
    sw2 = np.array([row.sw2 for row in scores])
    found = {}
    for score in LOW_IS_BETTER + HIGH_IS_BETTER:
        values = np.array([getattr(row, score) for row in scores], dtype=float)
        found[score] = ((1 if score in LOW_IS_BETTER else -1) * values, sw2)
    places = read_table(f"{pool.name}-pilot", Place)
    for by in CRITERIA:
        place = {p.network: p.place for p in places if (p.dataset, p.by) == (dataset, by)}
        if place:
            own = np.array([place[row.network] for row in scores], dtype=float)
            found[f"pilot, {by}"] = (own, sw2)
    return found


def report(pool: Pool, dataset: str, measured: list[Validity]) -> None:
    """Print outcomes and correlations on one dataset."""
    scores = [row for row in read_table(f"{pool.name}-scores", Scores) if row.dataset == dataset]
    print(f"{pool.name}, {dataset}: {scores[0].seeds} seeds")
    for row in sorted(scores, key=lambda row: row.sw2):
        error = "" if row.sw2_error is None else f"± {row.sw2_error:.3f}"
        print(f"  {row.network:48}{row.sw2:8.3f} {error:10}{row.alignment:9.4f}")
    tell(measured)


def tell(measured: list[Validity]) -> None:
    """Print correlations."""
    for one in measured:
        low, high = one.interval
        between = f"({low:+.2f} to {high:+.2f})"
        print(f"  {one.score:16}{one.spearman:+.2f} {between:18} p = {one.p_value:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pool", type=Path, nargs="+", default=[FIRST_POOL, SECOND_POOL])
    parser.add_argument("--mnist", type=Path, help="directory with MNIST's IDX files")
    parser.add_argument("--report", action="store_true", help="compute nothing")
    parser.add_argument("--workers", type=int)
    arguments = parser.parse_args()
    told: list[Validity] = []
    shared: dict[str, list[dict[str, tuple[np.ndarray, np.ndarray]]]] = {}
    for path in arguments.pool:
        pool = Pool.read(path, arguments.mnist)
        if not arguments.report:
            train_missing(pool, arguments.workers)
            score_missing(pool)
            pilot_missing(pool)
        rows = read_table(f"{pool.name}-scores", Scores)
        for dataset in dict.fromkeys(row.dataset for row in rows):
            order = orders(pool, dataset)
            shared.setdefault(dataset, []).append(order)
            name = CALLED.get(pool.name, pool.name)
            measured = [validity(name, dataset, score, *own) for score, own in order.items()]
            report(pool, dataset, measured)
            told += [v for v in measured if v.score in TOLD or v.score.startswith("pilot")]
    for dataset, founds in shared.items():
        if len(founds) > 1:
            scores = [score for score in founds[0] if score in TOLD or score.startswith("pilot")]
            both = [pooled(dataset, s, [f[s] for f in founds]) for s in scores]
            print(f"both pools, {dataset}")
            tell(both)
            told += both
    text = json.dumps([asdict(v) for v in told], indent=1) + "\n"
    atomic_write(VALIDITY_FILE, write_bytes(text.encode()))


if __name__ == "__main__":
    main()
