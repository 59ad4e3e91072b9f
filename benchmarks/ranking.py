"""Whether the score of `sads rank` tells before training which architecture will do best.

    python benchmarks/ranking.py [--mnist DIR] [--report]

Trains every network of the pool on two datasets with three seeds and one budget for all, measures
SW2 against held-out data, and compares the order with that of scores known before training.
Finished trainings are kept in `docs/results/ranking.csv` and not made again, so the same command
continues an interrupted run. The report uses the seeds with which all networks were trained;
`--report` makes no training first. It also writes what `sads rank` says of its own validity.

The scores were fixed before the first training. With C the data's second moment and G the
geometry at initialisation, of eigenvalues lambda_i with mean 1 and eigenvectors that hold the
shares e_i of tr C:

| score        | definition                                                           | better |
|--------------|----------------------------------------------------------------------|--------|
| `alignment`  | sum_i e_i lambda_i = D tr(GC) / (tr G tr C), that of `sads rank`     | low    |
| `root`       | the same with G^(1/2) for G                                          | low    |
| `square`     | the same with G^2 for G                                              | low    |
| `log`        | sum_i e_i log max(lambda_i, 1/1000)                                  | low    |
| `top`        | sum of e_i where lambda_i > 2                                        | low    |
| `centred`    | `alignment` with the covariance for C                                | low    |
| `anisotropy` | mean of lambda_i^2, a control that does not see the data             | low    |
| `parameters` | their number                                                         | high   |
| `synflow`    | SynFlow                                                              | high   |
| `jacobian`   | covariance of input Jacobians                                        | high   |

Correlations are Spearman's between a score and mean SW2 over the seeds, signed so that positive
means that the score is right, with a two-sided permutation p-value, each dataset by itself.
"""

import argparse
import csv
import io
import json
import sys
import time
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

import numpy as np
import torch
from scipy import stats

from sads.data import Dataset
from sads.diffusion import Settings, sample_chunks, train
from sads.distances import sliced_wasserstein
from sads.geometry import Geometry, Zero, estimate_geometry
from sads.ranking import rank_families
from sads.ranking.validity import FILE as VALIDITY_FILE
from sads.ranking.validity import Validity
from sads.specs.sources import as_dataset, as_family
from sads.storage.files import atomic_write, write_bytes

SHAPE = (1, 8, 8)
POOL = (
    "iddpm-16",
    "iddpm-16,resampling=area",
    "iddpm-16,groups=8",
    "iddpm-16,channels=16,groups=16",
    "iddpm-16,channels=16,groups=4,resampling=area",
    "dit-2,depth=4",
    "dit-2,width=96,depth=4",
    "dit-2,patch=1,depth=2",
    "dit-4,depth=4",
    "mlp",
    "cnn",
    "cnn,width=64,depth=6",
)
SEEDS = 3
ITERATIONS, BATCH, RATE = 400, 64, 1e-3
SAMPLES, STEPS = 1_000, 50
PROTOCOL = f"{ITERATIONS} steps of {BATCH} at {RATE}, {SAMPLES} samples in {STEPS} steps"
LOW_IS_BETTER = ("alignment", "root", "square", "log", "top", "centred", "anisotropy")
HIGH_IS_BETTER = ("parameters", "synflow", "jacobian")
SHOWN = ("alignment", *HIGH_IS_BETTER)  # by `sads rank`
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
TRIALS, SCORES = RESULTS / "ranking.csv", RESULTS / "ranking-scores.csv"


@dataclass(frozen=True)
class Trial:
    """One training and what came of it."""

    dataset: str
    network: str
    seed: int
    protocol: str
    sw2: float
    loss: float
    seconds: float


@dataclass(frozen=True)
class Pair:
    """Training and held-out samples of one dataset."""

    name: str
    train: Dataset
    held_out: Dataset


def datasets(mnist: Path | None) -> list[Pair]:
    """Digits, and MNIST at the same size; without its files, a sphere in three directions."""
    found = [Pair("digits", *(as_dataset("digits", split=s) for s in ("train", "held-out")))]
    if mnist is None:
        text = "sphere:dct:0,9,27,count=2000"
        both = (as_dataset(text, shape=SHAPE, split=s) for s in ("train", "held-out"))
        return [*found, Pair("sphere", *both)]
    counts = {"train": 10_000, "held-out": 2_000}
    both = (as_dataset(f"mnist:{mnist},count={n},split={split}") for split, n in counts.items())
    return [*found, Pair("mnist-8", *map(shrunk, both))]


def shrunk(data: Dataset) -> Dataset:
    """28x28 images padded with background to 32x32 and averaged over cells of 4x4."""
    padded = np.pad(data.samples, ((0, 0), (0, 0), (2, 2), (2, 2)), constant_values=-1)
    cells = padded.reshape(len(data), 1, 8, 4, 8, 4)
    return Dataset(cells.mean(axis=(3, 5)).astype(np.float32), f"{data.name} at 8x8")


def run(pair: Pair, name: str, seed: int) -> Trial:
    """Train, sample and measure."""
    started = time.perf_counter()
    family = as_family(name, shape=SHAPE)
    settings = Settings(iterations=ITERATIONS, batch_size=BATCH, learning_rate=RATE, seed=seed)
    trained = train(family, torch.from_numpy(pair.train.samples), settings)
    chunks = sample_chunks(trained.network, SHAPE, SAMPLES, family.schedule, steps=STEPS, seed=seed)
    x = torch.cat(list(chunks)).flatten(1).numpy()
    truth = pair.held_out.samples.reshape(len(pair.held_out), -1)
    sw2 = sliced_wasserstein(x, truth, generator=0).sw2
    loss = trained.losses[-50:].mean().item()
    return Trial(pair.name, name, seed, PROTOCOL, sw2, loss, time.perf_counter() - started)


def read_trials() -> list[Trial]:
    """The trainings that are done."""
    if not TRIALS.exists():
        return []
    types = {f.name: f.type for f in fields(Trial)}
    with TRIALS.open(newline="") as file:
        return [
            Trial(**{k: types[k](v) for k, v in row.items()})  # type: ignore[operator]
            for row in csv.DictReader(file)
        ]


def write_rows(path: Path, rows: list) -> None:
    """Dataclasses as CSV, whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(asdict(rows[0]))
    for row in rows:
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in astuple(row)])
    atomic_write(path, write_bytes(text.getvalue().encode()))


def train_all(pairs: list[Pair]) -> list[Trial]:
    """Make the trainings that are missing, all networks with one seed before the next."""
    done = read_trials()
    for seed in range(SEEDS):
        for pair in pairs:
            for name in POOL:
                wanted = (pair.name, name, seed, PROTOCOL)
                if any((t.dataset, t.network, t.seed, t.protocol) == wanted for t in done):
                    continue
                done.append(run(pair, name, seed))
                write_rows(TRIALS, done)
                print(done[-1], file=sys.stderr, flush=True)
    return done


def spearman(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Spearman's correlation, ties at their mean rank, and its two-sided permutation p-value."""
    x, y = stats.rankdata(x), stats.rankdata(y)

    def correlation(a: np.ndarray, axis: int = -1) -> np.ndarray:
        a = a - a.mean(axis=axis, keepdims=True)
        b = y - y.mean()
        return (a * b).sum(axis=axis) / np.sqrt((a**2).sum(axis=axis) * (b**2).sum())

    found = stats.permutation_test(
        (x,),
        correlation,
        permutation_type="pairings",
        n_resamples=99_999,
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    return float(found.statistic), float(found.pvalue)


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


def complete(pair: Pair, trials: list[Trial]) -> list[Trial]:
    """Trainings on one dataset with the seeds that all networks have."""
    own = [t for t in trials if (t.dataset, t.protocol) == (pair.name, PROTOCOL)]
    done = {(t.network, t.seed) for t in own}
    return [t for t in own if all((name, t.seed) in done for name in POOL)]


def score_all(pair: Pair, trials: list[Trial]) -> list[Scores]:
    """Scores of the pool on one dataset, beside its outcomes."""
    trials = complete(pair, trials)
    families = [as_family(name, shape=SHAPE) for name in POOL]
    ranking = rank_families(families, pair.train, probe=Zero())
    rows = []
    for entry in ranking.entries:
        family = next(f for f in families if f.name == entry.network)
        others = alternatives(estimate_geometry(family), pair.train)
        outcome = [t.sw2 for t in trials if (t.dataset, t.network) == (pair.name, entry.network)]
        row = Scores(
            dataset=pair.name,
            network=entry.network,
            alignment=entry.score,
            alignment_error=entry.score_error,
            **others,
            parameters=entry.baselines.parameters,
            synflow=entry.baselines.synflow,
            jacobian=entry.baselines.jacobian,
            seeds=len(outcome),
            sw2=float(np.mean(outcome)),
            sw2_error=float(stats.sem(outcome)) if len(outcome) > 1 else None,
        )
        rows.append(row)
    return rows


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


def correlations(rows: list[Scores]) -> list[Validity]:
    """Spearman of every score with the outcome on one dataset, positive where it is right."""
    sw2 = np.array([row.sw2 for row in rows])
    found = []
    for score in LOW_IS_BETTER + HIGH_IS_BETTER:
        values = np.array([getattr(row, score) for row in rows], dtype=float)
        rho, p = spearman(values if score in LOW_IS_BETTER else -values, sw2)
        found.append(Validity(rows[0].dataset, score, len(rows), round(rho, 3), round(p, 4)))
    return found


def report(pair: Pair, rows: list[Scores], found: list[Validity]) -> None:
    """Print outcomes and correlations on one dataset."""
    x, y = (d.samples.reshape(len(d), -1) for d in (pair.train, pair.held_out))
    floor = sliced_wasserstein(x[:SAMPLES], y, generator=0).sw2
    print(f"{pair.name}: {rows[0].seeds} seeds; SW2 of real samples {floor:.3f}")
    for row in sorted(rows, key=lambda row: row.sw2):
        error = "" if row.sw2_error is None else f"+- {row.sw2_error:.3f}"
        print(f"  {row.network:48}{row.sw2:8.3f} {error:10}{row.alignment:9.4f}")
    for one in found:
        print(f"  {one.score:12}{one.spearman:+.2f}  p = {one.p_value:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mnist", type=Path, help="directory with MNIST's IDX files")
    parser.add_argument("--report", action="store_true", help="train nothing")
    arguments = parser.parse_args()
    pairs = datasets(arguments.mnist)
    trials = read_trials() if arguments.report else train_all(pairs)
    pairs = [pair for pair in pairs if complete(pair, trials)]
    rows = [score_all(pair, trials) for pair in pairs]
    write_rows(SCORES, [row for part in rows for row in part])
    found = [correlations(part) for part in rows]
    shown = [asdict(v) for part in found for v in part if v.score in SHOWN]
    atomic_write(VALIDITY_FILE, write_bytes((json.dumps(shown, indent=1) + "\n").encode()))
    for pair, part, measured in zip(pairs, rows, found, strict=True):
        report(pair, part, measured)


if __name__ == "__main__":
    main()
