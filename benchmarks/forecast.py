"""Whether forecasts made before training tell, direction by direction, what training then does.

    python benchmarks/forecast.py [--pool FILE.toml] [--mnist DIR] [--out DIR]
                                  [--only trainings|forecasts|report]

Every network of the pool is trained on every dataset with every seed, on fresh samples at every
step, by Adam with gradients clipped. Rows are kept in `docs/results/forecast-validation.csv` as
they come and not made again, so the same command continues an interrupted run; with another pool
everything is written to `--out`. A dataset whose files are missing is left out with the reason.

The data are Gaussian, so that the optimum eps* is known. Along a direction u, after s steps,

    share_u(s) = E <f, eps*>_u / E <eps*, eps*>_u,      risk_u(s) = E <f - eps*, f - eps*>_u.

**Registered before the first training: the pool and the budget (`forecast-pool.toml`), and this.**

*Directions.* The 64 eigenvectors of the network's own geometry G (probe zero), made once with seed
0. All 64 cosines are recorded beside them and reported, but not judged.

*Outcomes*, one profile over the directions for each training:

- early: the share when half of the target is learned. The overall share is sum_u E <f, eps*>_u /
  sum_u E <eps*, eps*>_u. Between the two moments around the first time that it reaches 1/2, all
  shares are interpolated linearly, in the overall share. Trainings that do not reach it are left
  out; an architecture of which fewer than 8 trainings reach it fails by that reason.
- late: the risk after the last step.

*Forecasts*: the drift of Adam's first step for early; for late

- `G`: u^T G' u, G' a geometry of other networks than the one that gave the directions,
- `K`: u^T K u, the mean square of u^T J w over networks, noisy inputs and w ~ N(0, I),
- `noise`: the noise of Adam's step with gradients at the optimum (residual eps* - eps).

Recorded beside these, not judged by the bars: the noise of the first step (`first noise`), `noise`
over drift, -G for early (the conjecture that small eigenvalues are learned first), and `pilot`: the
share after `pilot_early` steps, for late the risk after `pilot_late` steps, of one half of the
seeds against the outcome of the other half. Forecasts added later are judged by the same
statistic and marked as later.

*Statistic.* Spearman's correlation over the directions between the forecast and the outcome's mean
over seeds. Its ceiling is sqrt(p q) with the reliabilities p of the forecast (halves of its
networks; for G the correlation of the two geometries) and q of the outcome (halves of the seeds),
each the mean over 100 random splits, stepped up by Spearman and Brown. For the pilot all is of
halves: the mean correlation over splits, and reliabilities that are not stepped up. A forecast
that tells no directions apart (G of an MLP is isotropic) or whose halves disagree counts as 0.
An architecture *has an order* on a dataset if halves of its seeds agree at 0.5 or more, before
stepping up.

*Bars.* Early: the median of Spearman / ceiling over all pairs of architecture and dataset that
have an order is at least 0.85. Late: on isotropic data, over the architectures that have an order,
the better of the two medians, of G and of noise, is at least 0.8. Every pair whose own ratio is
below its bar is named. Intervals of medians are by bootstrap over the pairs.

**Added later**, while the trainings ran and before any of their outcomes was looked at: the tangent
flow of 8 networks, its shares when half of the target is learned, for early along the judged
directions.
"""

import argparse
import csv
import hashlib
import io
import json
import math
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from safetensors.numpy import load_file, save
from scipy import stats

from sads.data.laws import Law
from sads.directions.sets import Columns, Cosines, DirectionSet
from sads.errors import SadsError
from sads.geometry import Zero, estimate_geometry
from sads.inspection.jacobian_products import moving_parameters
from sads.learning import Optimum, Recipe, Scene, forecast_training
from sads.learning.agreement import halves_agreement, stepped_up
from sads.learning.drift import drift_of
from sads.learning.forecast_method import Method
from sads.learning.one_step import OneStep
from sads.learning.pilot import Followed, follow_training
from sads.learning.tangent_flow import TangentFlow
from sads.learning.validity import ALL, MINUS_G, kind_of
from sads.learning.validity import FILE as VALIDITY
from sads.networks import ScoreFamily
from sads.randomness import stream, torch_stream
from sads.specs import DataSpec, NetworkSpec, parse_shape
from sads.statistics.ranks import rank_correlation
from sads.storage.files import atomic_write, write_bytes

HERE = Path(__file__).resolve().parent
POOL = HERE / "forecast-pool.toml"
RESULTS = HERE.parent / "docs" / "results"
NAME = "forecast-validation"
BASES = ("eigenvectors", "cosines")
JUDGED = BASES[0]
HAS_ORDER, FEWEST = 0.5, 8
BARS = {"early": 0.85, "late": 0.8}


@dataclass(frozen=True)
class Pool:
    """What a pool file says; the fields are explained there."""

    shape: str
    seeds: int
    batch_size: int
    learning_rate: float
    clip: float
    moments: list[int]
    points: int
    last_points: int
    pilot_early: int
    pilot_late: int
    forecast_networks: int
    optimum_networks: int
    geometry_networks: int
    networks: list[str | dict[str, str]]
    data: dict[str, str]
    first_seed: int = 0
    flow_networks: int = 8

    @property
    def recipe(self) -> Recipe:
        """How the steps are taken."""
        return Recipe("adam", self.learning_rate, self.batch_size, self.clip)

    @property
    def spelled(self) -> str:
        """The protocol as a row tells it."""
        return f"{self.moments[-1]} steps of {self.batch_size} at {self.learning_rate:g}"

    def family(self, entry: str | dict[str, str]) -> ScoreFamily:
        """One of its networks."""
        given = {"network": entry} if isinstance(entry, str) else entry
        shape = parse_shape(given.get("shape", self.shape))
        return NetworkSpec.parse(given["network"]).family(shape)

    def laws(self, mnist: Path | None) -> Iterator[tuple[str, Law]]:
        """The datasets that can be had."""
        for name, text in self.data.items():
            if "{mnist}" in text and mnist is None:
                print(f"{name} is left out: no --mnist directory is given", file=sys.stderr)
                continue
            try:
                spec = DataSpec.parse(text.format(mnist=mnist))
                made = spec.dataset(parse_shape(self.shape), count=1)
            except SadsError as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
                continue
            if made.law is None:
                print(f"{name} is left out: its optimum is not known", file=sys.stderr)
                continue
            yield name, made.law


@dataclass(frozen=True, eq=False)
class Stacked(DirectionSet):
    """Several sets of directions one after the other."""

    sets: tuple[DirectionSet, ...]

    def coefficients(self, x: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N m"]:
        """Of all sets."""
        return np.concatenate([one.coefficients(x) for one in self.sets], axis=1)

    @cached_property
    def _groups(self) -> np.ndarray:
        starts = np.cumsum([0, *(len(one.widths) for one in self.sets)])
        return np.concatenate([one.groups + s for one, s in zip(self.sets, starts, strict=False)])

    @property
    def groups(self) -> np.ndarray:
        """Numbered on from set to set."""
        return self._groups

    @property
    def labels(self) -> tuple[str, ...]:
        """Of all sets."""
        return tuple(label for one in self.sets for label in one.labels)


class Workshop:
    """Where rows, directions and curves are kept."""

    def __init__(self, pool: Pool, out: Path, work: Path):
        self.pool, self.out, self.work = pool, out, work
        self.trainings, self.forecasts = out / f"{NAME}.csv", out / f"{NAME}-forecasts.csv"

    def directions(self, family: ScoreFamily) -> tuple[Stacked, Float[np.ndarray, "2 D"]]:
        """Eigenvectors and cosines, and the diagonals of both geometries along all of them."""
        place = self.work / f"{slug(family.name)}.directions.safetensors"
        if not place.exists():
            count = self.pool.geometry_networks
            first, second = (
                estimate_geometry(family, probe=Zero(), networks=count, seed=seed)
                for seed in (0, 1)
            )
            vectors = first.spectrum().eigenvectors.astype(np.float64)
            both = np.concatenate([vectors, cosines(family.shape)], axis=1)
            diagonals = [
                np.einsum("ij,ij->j", both, np.asarray(g.matvec(both.T)).T) for g in (first, second)
            ]
            tensors = {"vectors": np.ascontiguousarray(vectors), "diagonals": np.stack(diagonals)}
            atomic_write(place, write_bytes(save(tensors)))
        stored = load_file(place)
        sets = (Columns(family.shape, stored["vectors"]), Cosines(family.shape))
        return Stacked(family.shape, sets), stored["diagonals"]


def cosines(shape: tuple[int, ...]) -> Float[np.ndarray, "D D"]:
    """The cosines as columns."""
    return Cosines(shape).coefficients(np.eye(math.prod(shape)))


def slug(*parts: object) -> str:
    """A short file name of its own for each combination."""
    text = " ".join(map(str, parts))
    plain = "".join(c if c.isalnum() else "-" for c in text)[-60:]
    return f"{plain}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows that are there."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    """All rows, whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    atomic_write(path, write_bytes(text.getvalue().encode()))


def listed(values: np.ndarray) -> str:
    """Numbers in one field."""
    return " ".join(f"{v:.4g}" for v in values)


def numbers(text: str) -> Float[np.ndarray, " k"]:
    """And back."""
    return np.array(text.split(), dtype=float)


def at_half(followed: Followed, own: slice) -> tuple[float, Float[np.ndarray, " k"]] | None:
    """The step at which half of the target is learned and the shares there; None if never."""
    overall = followed.taken[:, own].sum(axis=1) / followed.energy[own].sum()
    reached = np.flatnonzero(overall >= 0.5)
    if not len(reached):
        return None
    after = int(reached[0])
    shares = followed.shares[:, own]
    if after == 0:
        return float(followed.moments[0]), shares[0]
    weight = (0.5 - overall[after - 1]) / (overall[after] - overall[after - 1])
    steps = followed.moments[after - 1 : after + 1]
    step = float(steps[0] + weight * (steps[1] - steps[0]))
    return step, (1 - weight) * shares[after - 1] + weight * shares[after]


def train_all(shop: Workshop, laws: dict[str, Law]) -> None:
    """Make the trainings that are missing, everything with one seed before the next."""
    pool, rows = shop.pool, read_rows(shop.trainings)
    done = {(r["data"], r["network"], int(r["seed"]), r["protocol"]) for r in rows}
    for seed in range(pool.first_seed, pool.first_seed + pool.seeds):
        for data, law in laws.items():
            for entry in pool.networks:
                family = pool.family(entry)
                if (data, family.name, seed, pool.spelled) in done:
                    continue
                try:
                    rows += trained(shop, family, data, law, seed)
                except SadsError as error:
                    print(f"{data} {family.name} seed {seed} failed: {error}", file=sys.stderr)
                    continue
                write_rows(shop.trainings, rows)


def trained(
    shop: Workshop, family: ScoreFamily, data: str, law: Law, seed: int
) -> list[dict[str, str]]:
    """One training: a row for each set of directions."""
    started, pool = time.process_time(), shop.pool
    directions, _ = shop.directions(family)
    followed = follow_training(
        Scene(family, Optimum(law), law, directions, pool.recipe),
        moments=pool.moments,
        seed=seed,
        points=pool.points,
        last_points=pool.last_points,
    )
    curves = {"taken": followed.taken, "energy": followed.energy, "risk": followed.risk}
    place = shop.work / f"{slug(data, family.name, seed)}.curves.safetensors"
    atomic_write(place, write_bytes(save({n: v.astype(np.float32) for n, v in curves.items()})))
    seconds = time.process_time() - started
    early, late = (pool.moments.index(s) for s in (pool.pilot_early, pool.pilot_late))
    rows = []
    for number, basis in enumerate(BASES):
        own = slice(number * family.size, (number + 1) * family.size)
        half = at_half(followed, own)
        overall = followed.taken[:, own].sum(axis=1) / followed.energy[own].sum()
        rows.append(
            {
                "data": data,
                "network": family.name,
                "seed": str(seed),
                "protocol": pool.spelled,
                "basis": basis,
                "seconds": f"{seconds:.1f}",
                "half_step": "" if half is None else f"{half[0]:.3f}",
                "overall": listed(overall),
                "share_half": "" if half is None else listed(half[1]),
                "risk_late": listed(followed.risk[-1, own]),
                "share_late": listed(followed.shares[-1, own]),
                "share_pilot": listed(followed.shares[early, own]),
                "risk_pilot": listed(followed.risk[late, own]),
            }
        )
    print(f"{data} {family.name} seed {seed}: {seconds:.1f} s", file=sys.stderr, flush=True)
    return rows


def kernel_rows(scene: Scene, networks: int) -> Float[np.ndarray, "M k"]:
    """The mean square of u^T J w at noisy inputs, one row a network."""
    rows = []
    for number in range(networks):
        network = scene.family.member(1_000_000 + number).eval()
        here = scene.look(128, stream(number, "inputs of a tangent kernel's diagonal"))
        normal = torch_stream(number, "weights of a tangent kernel's diagonal")
        along = {
            n: torch.randn(p.shape, generator=normal) for n, p in moving_parameters(network).items()
        }
        moved = scene.moved(network, along, here)
        rows.append(scene.directions.products(moved, moved).mean(axis=0))
    return np.stack(rows)


def forecast_all(shop: Workshop, laws: dict[str, Law]) -> None:
    """Make the forecasts that are missing."""
    rows = read_rows(shop.forecasts)
    done = {(r["data"], r["network"], r["forecast"]) for r in rows}
    for data, law in laws.items():
        for entry, (make, name) in product(shop.pool.networks, MAKERS):
            family = shop.pool.family(entry)
            if (data, family.name, name) in done:
                continue
            try:
                rows += make(shop, family, data, law)
            except SadsError as error:
                print(f"{data} {family.name}: no {name}: {error}", file=sys.stderr)
                continue
            write_rows(shop.forecasts, rows)
            print(f"{data} {family.name}: {name}", file=sys.stderr, flush=True)


def forecasts(shop: Workshop, family: ScoreFamily, data: str, law: Law) -> list[dict[str, str]]:
    """All forecasts of one network on one dataset, with their reliabilities."""
    pool, (directions, diagonals) = shop.pool, shop.directions(family)

    scene = Scene(family, Optimum(law), law, directions, pool.recipe, seed=1)

    def rows_of(method: Method, networks: int) -> np.ndarray:
        return forecast_training(scene, method, networks=networks).rows

    first = rows_of(OneStep(), pool.forecast_networks)
    optimum = rows_of(OneStep(at_optimum=True), pool.optimum_networks)
    kernel = kernel_rows(scene, pool.optimum_networks)
    rows = []
    for number, basis in enumerate(BASES):
        own = slice(number * family.size, (number + 1) * family.size)

        def row(name: str, values: np.ndarray, reliability: float, basis: str = basis):
            return forecast_row(data, family, basis, name, values, reliability)

        def of_rows(units: np.ndarray) -> float:
            return stepped_up(halves_agreement(units))

        shares = first[:, :, own]
        known = diagonals[:, own]
        noise, later = first[:, 2, own], optimum[:, 2, own]
        rows += [
            row("drift", drift_of(shares), stepped_up(halves_agreement(shares, drift_of))),
            row("first noise", noise.mean(axis=0), of_rows(noise)),
            row("noise", later.mean(axis=0), of_rows(later)),
            row("K", kernel[:, own].mean(axis=0), of_rows(kernel[:, own])),
            row("G", known[1], rank_correlation(known[0], known[1])),
        ]
    return rows


def forecast_row(
    data: str, family: ScoreFamily, basis: str, name: str, values: np.ndarray, reliability: float
) -> dict[str, str]:
    """One forecast of all directions."""
    told = {"data": data, "network": family.name, "basis": basis, "forecast": name}
    return told | {"reliability": f"{reliability:.4f}", "values": listed(values)}


def flows(shop: Workshop, family: ScoreFamily, data: str, law: Law) -> list[dict[str, str]]:
    """The tangent flow, along the judged directions alone."""
    pool, (directions, _) = shop.pool, shop.directions(family)
    scene = Scene(family, Optimum(law), law, directions.sets[0], pool.recipe, seed=1)
    method = TangentFlow(steps=pool.moments[-1])
    units = forecast_training(scene, method, networks=pool.flow_networks).rows
    reliability = stepped_up(halves_agreement(units, drift_of))
    return [forecast_row(data, family, JUDGED, FLOW, drift_of(units), reliability)]


FLOW = TangentFlow.name
MAKERS = ((forecasts, "drift"), (flows, FLOW))
EARLY, LATE = ("drift", FLOW, MINUS_G), ("G", "noise", "K", "first noise", "noise over drift")


def judged_pairs(shop: Workshop) -> list[dict[str, Any]]:
    """Every architecture, dataset, set of directions, outcome and forecast with its ratio."""
    trainings = [r for r in read_rows(shop.trainings) if r["protocol"] == shop.pool.spelled]
    known: dict[tuple[str, str, str], dict[str, tuple[np.ndarray, float]]] = {}
    for r in read_rows(shop.forecasts):
        own = known.setdefault((r["data"], r["network"], r["basis"]), {})
        own[r["forecast"]] = numbers(r["values"]), float(r["reliability"])
    pairs = []
    for key, told in known.items():
        rows = [r for r in trainings if (r["data"], r["network"], r["basis"]) == key]
        told[MINUS_G] = -told["G"][0], told["G"][1]
        told["noise over drift"] = (
            told["noise"][0] / np.maximum(told["drift"][0], 1e-12),
            math.sqrt(max(told["noise"][1] * told["drift"][1], 0)),
        )
        head = dict(zip(("data", "network", "basis"), key, strict=True))
        reached = [r for r in rows if r["share_half"]]
        halves = sorted(float(r["half_step"]) for r in reached)
        about = {"reached": len(reached), "half_step": float(np.median(halves)) if halves else None}
        shares, pilots = stacked(reached, "share_half"), stacked(reached, "share_pilot")
        for name in (name for name in EARLY if name in told):
            pairs.append(head | about | pair("early", name, shares, *told[name]))
        pairs.append(head | about | piloted("early", shares, pilots))
        risks, pilots = stacked(rows, "risk_late"), stacked(rows, "risk_pilot")
        for name in LATE:
            pairs.append(head | about | pair("late", name, risks, *told[name]))
        pairs.append(head | about | piloted("late", risks, pilots))
    return pairs


def stacked(rows: list[dict[str, str]], field: str) -> Float[np.ndarray, "S k"]:
    """A field of all rows."""
    return np.stack([numbers(r[field]) for r in rows]) if rows else np.zeros((0, 1))


def pair(
    outcome: str, name: str, units: Float[np.ndarray, "S k"], values: np.ndarray, reliability: float
) -> dict[str, Any]:
    """A forecast against an outcome."""
    told = {"outcome": outcome, "forecast": name, "trainings": len(units)}
    if len(units) < FEWEST:
        return told | {"agreement": None, "spearman": None, "ceiling": None, "ratio": None}
    agreement = halves_agreement(units)
    ceiling = math.sqrt(max(reliability, 0.0) * stepped_up(agreement))
    return told | rounded(agreement, rank_correlation(values, units.mean(axis=0)), ceiling)


def piloted(outcome: str, units: np.ndarray, pilots: np.ndarray) -> dict[str, Any]:
    """Pilots of one half of the seeds against the outcome of the other."""
    told = {"outcome": outcome, "forecast": "pilot", "trainings": len(units)}
    if len(units) < FEWEST:
        return told | {"agreement": None, "spearman": None, "ceiling": None, "ratio": None}
    generator, half, across = stream(0, "halves of a pilot"), len(units) // 2, []
    for _ in range(100):
        order = generator.permutation(len(units))
        own, other = pilots[order[:half]], units[order[half : 2 * half]]
        across.append(rank_correlation(own.mean(axis=0), other.mean(axis=0)))
    agreement = halves_agreement(units)
    ceiling = math.sqrt(max(halves_agreement(pilots), 0.0) * max(agreement, 0.0))
    return told | rounded(agreement, float(np.mean(across)), ceiling)


def rounded(agreement: float, rho: float, ceiling: float) -> dict[str, float | None]:
    """What a pair comes to."""
    ratio = rho / ceiling if ceiling > 0 and math.isfinite(rho) else math.nan
    values = {"agreement": agreement, "spearman": rho, "ceiling": ceiling, "ratio": ratio}
    return {n: round(v, 4) if math.isfinite(v) else None for n, v in values.items()}


def has_order(row: dict[str, Any]) -> bool:
    """Whether halves of the seeds agree on the outcome."""
    return row["agreement"] is not None and row["agreement"] >= HAS_ORDER


def summary(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians of the ratio over the pairs that have an order, by outcome, forecast and dataset."""
    rows = []
    every = "all"
    keys = dict.fromkeys((p["basis"], p["outcome"], p["forecast"]) for p in pairs)
    for basis, outcome, name in keys:
        own = [
            p for p in pairs if (p["basis"], p["outcome"], p["forecast"]) == (basis, outcome, name)
        ]
        for data in (every, *dict.fromkeys(p["data"] for p in own)):
            some = [p for p in own if data in (every, p["data"])]
            ordered = [p for p in some if has_order(p)]
            ratios = np.array([p["ratio"] if p["ratio"] is not None else 0.0 for p in ordered])
            head = {"basis": basis, "outcome": outcome, "forecast": name, "data": data}
            head |= {"architectures": len(some), "with_order": len(ordered)}
            bar = BARS[outcome]
            rows.append(head | {"median": None, "low": None, "high": None, "at_bar": 0, "bar": bar})
            if len(ratios):
                low, high = bootstrap(ratios)
                rows[-1] |= {"median": round(float(np.median(ratios)), 4), "low": low, "high": high}
                rows[-1] |= {"at_bar": int((ratios >= bar).sum())}
    return rows


def bootstrap(ratios: Float[np.ndarray, " n"]) -> tuple[float | None, float | None]:
    """The 95 % interval of the median; none of fewer than three."""
    if len(ratios) < 3:
        return None, None
    interval = stats.bootstrap(
        (ratios,), np.median, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    return round(float(interval.low), 4), round(float(interval.high), 4)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """One object, whole or not at all."""
    atomic_write(path, write_bytes((json.dumps(content, indent=1) + "\n").encode()))


# What the package says of its own forecasts, by the names of its methods.
SHIPPED = {
    "early": {"drift": "one step", FLOW: FLOW, "pilot": "pilot", MINUS_G: MINUS_G},
    "late": {"first noise": "one step", "pilot": "pilot", "G": "G"},
}


def shipped(shop: Workshop, pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How each method did, over all networks and by their class."""
    families = [shop.pool.family(entry) for entry in shop.pool.networks]
    kinds = {family.name: kind_of(family.member(0)) for family in families}
    judged = [p | {"kind": kinds[p["network"]]} for p in pairs]
    rows = []
    for basis, (outcome, names) in product(BASES, SHIPPED.items()):
        for name, method in names.items():
            key = (basis, outcome, name)
            own = [p for p in judged if (p["basis"], p["outcome"], p["forecast"]) == key]
            for kind in (ALL, *dict.fromkeys(kinds.values())):
                some = summary([p for p in own if kind in (ALL, p["kind"])])
                if not some:
                    continue
                row = some[0]  # of all datasets together
                told = {"basis": basis, "outcome": outcome, "method": method, "kind": kind}
                told |= {"looked_at": row["architectures"], "with_order": row["with_order"]}
                told |= {name: row[name] for name in ("median", "low", "high")}
                rows.append(told | {"right": row["at_bar"], "bar": row["bar"]})
    # The noise of a tangent flow is that of one step.
    late = [r for r in rows if (r["outcome"], r["method"]) == ("late", "one step")]
    return rows + [r | {"method": FLOW} for r in late]


def report(shop: Workshop) -> None:
    """Judge what is there, print it and keep it."""
    pairs = judged_pairs(shop)
    rows = summary(pairs)
    content = {"protocol": shop.pool.spelled, "seeds": shop.pool.seeds, "judged": JUDGED}
    content |= {"bars": BARS, "summary": rows, "pairs": pairs}
    write_json(shop.out / f"{NAME}.json", content)
    if shop.out == RESULTS:
        write_json(VALIDITY, {"rows": shipped(shop, pairs)})
    for row in rows:
        if row["basis"] == JUDGED:
            told = "no order" if row["median"] is None else f"{row['median']:.2f}"
            print(
                f"{row['outcome']:6}{row['forecast']:18}{row['data']:10} median {told:9}"
                f"({row['low']} to {row['high']}), {row['at_bar']} of {row['with_order']} at the "
                f"bar, {row['architectures']} looked at"
            )
    for p in pairs:
        if p["basis"] == JUDGED and p["forecast"] in ("drift", "G", "noise"):
            print(
                f"{p['data']:10}{p['network'][-36:]:37}{p['outcome']:6}{p['forecast']:7}"
                f"{p['trainings']:3} agree {p['agreement']} rho {p['spearman']} ceiling "
                f"{p['ceiling']} ratio {p['ratio']} half at {p['half_step']}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pool", type=Path, default=POOL, help="networks, data and budget")
    parser.add_argument("--mnist", type=Path, help="directory with MNIST's IDX files")
    parser.add_argument("--out", type=Path, help="directory of the rows")
    parser.add_argument("--only", choices=("trainings", "forecasts", "report"))
    arguments = parser.parse_args()
    pool = Pool(**tomllib.loads(arguments.pool.read_text()))
    if arguments.out is None and arguments.pool != POOL:
        parser.error("another pool needs --out DIR for its rows")
    out = arguments.out or RESULTS
    work = (out if arguments.out else HERE.parent / "build") / f"{NAME}-work"
    work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    shop, laws = Workshop(pool, out, work), dict(pool.laws(arguments.mnist))
    if arguments.only in (None, "trainings"):
        train_all(shop, laws)
    if arguments.only in (None, "forecasts"):
        forecast_all(shop, laws)
    if arguments.only != "trainings":
        report(shop)


if __name__ == "__main__":
    main()
