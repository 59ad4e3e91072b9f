"""Whether the parametrisation changes what is learned last.

    python benchmarks/parametrisation.py [--settings FILE.toml] [--out DIRECTORY] [--report]

One architecture that predicts noise on the variance-preserving path, noise on a rectified flow, and
the velocity of that flow: geometries, forecasts, and after training the exact risk of the denoised
image by band of frequency at equal ratios of noise to signal. What is measured is kept in `--out`,
so that the same command goes on with an interrupted run. Rows are written to
`docs/results/parametrisation.csv`, what follows from them to `parametrisation.json` beside it and
to `docs/results-parametrisation.md`. `--report` computes nothing but these from the rows.

A risk is told relative to what there is to learn: the power of the best denoised image in a band,
sum over its directions of v^2 / (v + sigma^2) for a variance v of the data. One is the risk of a
network that denoises to zero. Means over ratios and seeds are those of logarithms, since at large
ratios a network that predicts noise is wrong by far more.
"""

import argparse
import csv
import json
import time
import tomllib
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

import sads
from sads.data.laws import Normal
from sads.directions.sets import Cosines
from sads.learning.agreement import halves_agreement, mean_profile, stepped_up
from sads.specs.coercion import as_dataset
from sads.statistics.ranks import rank_correlation
from sads.storage.cached_results import remembered
from sads.storage.files import atomic_write, write_bytes

ROOT = Path(__file__).resolve().parents[1]
ROWS = ROOT / "docs" / "results" / "parametrisation.csv"
VERDICT = ROWS.with_suffix(".json")
PAGE = ROOT / "docs" / "results-parametrisation.md"
COLUMNS: tuple[str, ...] = (
    "data",
    "parametrisation",
    "kind",
    "of",
    "seed",
    "sigma",
    "band",
    "value",
    "error",
)


class Study:
    """The registered settings, and what is measured under them."""

    def __init__(self, settings: dict[str, Any], out: Path):
        self.settings, self.out = settings, out
        self.shape = tuple(int(n) for n in settings["shape"].split("x"))
        self.directions = Cosines(self.shape, settings["bands"])

    def rows(self) -> list[dict[str, Any]]:
        """Everything, one row a number."""
        rows = []
        for name, network in self.settings["parametrisations"].items():
            for probe in self.settings["probes"]:
                rows += self._told("", name, "geometry", probe, self._geometry(network, probe))
            for data, source in self.settings["data"].items():
                rows += self._told(data, name, "forecast", "drift", self._forecast(network, source))
                for seed in self.settings["seeds"]:
                    trained = self._trained(network, source, seed)
                    for sigma in self.settings["sigmas"]:
                        own = trained[str(sigma)]
                        rows += self._told(data, name, "risk", "clean", own, seed, sigma)
                    print(data, name, seed, f"{trained['seconds']:.1f} s", flush=True)
        return rows

    def _told(
        self,
        data: str,
        name: str,
        kind: str,
        of: str,
        found: dict[str, list[float]],
        seed: int | str = "",
        sigma: float | str = "",
    ) -> list[dict[str, Any]]:
        pairs = zip(found["values"], found["errors"], strict=True)
        return [
            dict(zip(COLUMNS, (data, name, kind, of, seed, sigma, band, *pair), strict=True))
            for band, pair in enumerate(pairs)
        ]

    def _geometry(self, network: str, probe: str) -> dict[str, list[float]]:
        """Mean of u^T G u over each band, relative to that over all directions."""
        about = {"network": network, "probe": probe, "untrained": self.settings["untrained"]}

        def compute() -> dict[str, Any]:
            geometry = sads.estimate_geometry(
                network,
                shape=self.shape,
                probe=probe,
                networks=self.settings["untrained"],
            )
            values, vectors = np.linalg.eigh(geometry.matrix())
            energies = values @ self.directions.products(vectors.T, vectors.T)
            mean = energies / self.directions.widths / values.mean()
            return {"values": mean.tolist(), "errors": [0.0] * len(mean)}

        return remembered(self._place("geometry", network, probe), about, compute)

    def _forecast(self, network: str, source: str) -> dict[str, list[float]]:
        """The share of the target that one step takes up, per unit of the learning rate."""
        about = {"network": network, "data": source, "networks": self.settings["networks"]}

        def compute() -> dict[str, Any]:
            forecast = sads.forecast(
                network,
                source,
                shape=self.shape,
                directions=self.directions,
                batch_size=self.settings["batch_size"],
                learning_rate=self.settings["learning_rate"],
                networks=self.settings["networks"],
                method="one step",
            )
            return {"values": forecast.drift.tolist(), "errors": forecast.drift_error.tolist()}

        return remembered(self._place("forecast", network, source), about, compute)

    def _trained(self, network: str, source: str, seed: int) -> dict[str, Any]:
        """The relative excess risk of the denoised image in each band, by sigma."""
        settings = self.settings
        kept = {k: settings[k] for k in ("iterations", "batch_size", "learning_rate", "samples")}
        about = {"network": network, "data": source, "seed": seed, "sigmas": settings["sigmas"]}

        def compute() -> dict[str, Any]:
            began = time.process_time()
            trained = sads.train(
                network,
                f"{source},count={settings['samples']},seed={seed}",
                shape=self.shape,
                iterations=settings["iterations"],
                batch_size=settings["batch_size"],
                learning_rate=settings["learning_rate"],
                seed=seed,
            )
            found: dict[str, Any] = {}
            for sigma in settings["sigmas"]:
                risk = sads.risk(
                    trained,
                    data=source,
                    directions=self.directions,
                    exact=True,
                    of="clean",
                    sigmas=[sigma],
                    tolerance=settings["tolerance"],
                    seed=seed,
                )
                power = self._power(source, sigma)
                found[str(sigma)] = {
                    "values": (risk.by_direction / power).tolist(),
                    "errors": (risk.by_direction_error / power).tolist(),
                }
            return found | {"seconds": time.process_time() - began}

        place = self._place("risk", network, source, str(seed))
        return remembered(place, about | kept, compute)

    def _power(self, source: str, sigma: float) -> np.ndarray:
        """E|P_band x_0*|^2, x_0* the best denoised image at sigma."""
        law = as_dataset(f"{source},count=1", shape=self.shape).law
        if not isinstance(law, Normal):
            raise TypeError(f"{source} is not Gaussian")
        rest = law.rest**2 / (law.rest + sigma**2) if law.rest else 0.0
        if not law.basis.shape[1]:
            return rest * self.directions.widths
        inside = law.variances**2 / (law.variances + sigma**2) - rest
        along = inside @ self.directions.products(law.basis.T, law.basis.T)
        return along + rest * self.directions.widths

    def _place(self, *parts: str) -> Path:
        name = "-".join("".join(c if c.isalnum() else "_" for c in part) for part in parts)
        return self.out / f"{name}.json"


def verdict(rows: list[dict[str, str]], settings: dict[str, Any]) -> dict[str, Any]:
    """Orders of the bands, and how far they agree."""
    names = list(settings["parametrisations"])
    geometry = {
        probe: {n: _profile(rows, kind="geometry", of=probe, parametrisation=n) for n in names}
        for probe in settings["probes"]
    }
    found: dict[str, Any] = {
        "settings": settings,
        "geometry": geometry,
        "geometry_correlations": {p: _pairs(g) for p, g in geometry.items()},
        "data": {},
    }
    for data in settings["data"]:
        risks = {n: _by_seed(rows, data, n) for n in names}  # seeds x sigmas x bands
        risks = {n: np.log(r) for n, r in risks.items()}
        means = {n: r.mean(axis=1) for n, r in risks.items()}
        profiles = {n: m.mean(axis=0).tolist() for n, m in means.items()}
        drift = {n: _profile(rows, kind="forecast", data=data, parametrisation=n) for n in names}
        found["data"][data] = {
            "log_risk": profiles,
            "log_risk_error": {
                n: (m.std(axis=0, ddof=1) / np.sqrt(len(m))).tolist() for n, m in means.items()
            },
            "total": {
                n: [float(np.exp(m.mean())), float(np.exp(m.mean()) * _error(m.mean(axis=1)))]
                for n, m in means.items()
            },
            "total_by_sigma": {n: np.exp(r.mean(axis=(0, 2))).tolist() for n, r in risks.items()},
            "correlations": _pairs(profiles),
            "correlation_intervals": _intervals(means),
            "correlations_by_sigma": [
                _pairs({n: r[:, i].mean(axis=0).tolist() for n, r in risks.items()})
                for i in range(len(settings["sigmas"]))
            ],
            "reliability": {
                n: stepped_up(halves_agreement(m, mean_profile)) for n, m in means.items()
            },
            "drift": drift,
            "drift_correlations": _pairs(drift),
            "learned_first_is_best": {n: -_rank(drift[n], profiles[n]) for n in names},
            "geometry_and_risk": {
                n: _rank(geometry[settings["probes"][0]][n], profiles[n]) for n in names
            },
            "last": {n: [int(i) for i in np.argsort(profiles[n])[::-1][:3]] for n in names},
        }
    return found


def _chosen(rows: list[dict[str, str]], **wanted: str) -> list[dict[str, str]]:
    return [row for row in rows if all(row[k] == v for k, v in wanted.items())]


def _profile(rows: list[dict[str, str]], **wanted: str) -> list[float]:
    return [float(row["value"]) for row in _chosen(rows, **wanted)]


def _by_seed(rows: list[dict[str, str]], data: str, name: str) -> np.ndarray:
    own = _chosen(rows, kind="risk", data=data, parametrisation=name)
    axes = [sorted({float(r[k]) for r in own}) for k in ("seed", "sigma", "band")]
    table = np.full([len(axis) for axis in axes], np.nan)
    for row in own:
        place = [axis.index(float(row[k])) for axis, k in zip(axes, COLUMNS[4:7], strict=True)]
        table[tuple(place)] = float(row["value"])
    return table


def _rank(a: list[float], b: list[float]) -> float:
    return rank_correlation(np.array(a), np.array(b))


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _pairs(profiles: dict[str, list[float]]) -> dict[str, float]:
    return {f"{a}, {b}": _rank(profiles[a], profiles[b]) for a, b in combinations(profiles, 2)}


def _intervals(means: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """95 % intervals of the correlations between mean profiles, from all resamples of the seeds.

    Args:
        means: a profile for each seed, (seeds, bands); the same seeds for each parametrisation.
    """
    seeds = range(len(next(iter(means.values()))))
    drawn: dict[str, list[float]] = {}
    for chosen in product(seeds, repeat=len(seeds)):
        profiles = {n: m[list(chosen)].mean(axis=0).tolist() for n, m in means.items()}
        for pair, value in _pairs(profiles).items():
            drawn.setdefault(pair, []).append(value)
    return {pair: np.quantile(values, (0.025, 0.975)).tolist() for pair, values in drawn.items()}


def page(found: dict[str, Any]) -> str:
    """The page of results; every number in it is from the verdict."""
    settings = found["settings"]
    names = list(settings["parametrisations"])
    head = "| | " + " | ".join(names) + " |\n|---|" + "---|" * len(names)
    pairs = list(found["geometry_correlations"][settings["probes"][0]])
    lines = [
        "# A rectified-flow DiT and the same DiT predicting noise",
        "",
        "Does the parametrisation change what is learned last? `"
        + "`, `".join(settings["parametrisations"].values())
        + f"` at {settings['shape']}, {settings['iterations']} steps of "
        f"{settings['batch_size']} with Adam at {settings['learning_rate']:g}, "
        f"{len(settings['seeds'])} seeds, registered in `benchmarks/parametrisation.toml` before "
        "any of them was trained. Made by `benchmarks/parametrisation.py`; rows in "
        "`docs/results/parametrisation.csv`.",
        "",
        "The risk is the excess error of the denoised image at equal ratios of noise to signal "
        f"({', '.join(f'{s:g}' for s in settings['sigmas'])}), relative to the power of the best "
        f"one: 1 is a network that denoises to zero. There are {_bands(found)} bands of "
        "frequency, 0 the lowest.",
        "",
        *_answer(found),
    ]
    for data, own in found["data"].items():
        rows = [
            (
                "relative risk, geometric mean",
                {n: "{:.3g} ± {:.1g}".format(*own["total"][n]) for n in names},
            ),
            *(
                (f"at sigma {s:g}", {n: f"{own['total_by_sigma'][n][i]:.2g}" for n in names})
                for i, s in enumerate(settings["sigmas"])
            ),
            ("learned last (bands)", {n: ", ".join(map(str, own["last"][n])) for n in names}),
            ("halves of the seeds agree", {n: f"{own['reliability'][n]:.2f}" for n in names}),
            (
                "one-step drift tells the order",
                {n: f"{own['learned_first_is_best'][n]:.2f}" for n in names},
            ),
            (
                "energy in G against risk",
                {n: f"{own['geometry_and_risk'][n]:.2f}" for n in names},
            ),
        ]
        lines += ["", f"## {data.capitalize()} data", "", head]
        lines += [
            f"| {label} | " + " | ".join(cells[n] for n in names) + " |" for label, cells in rows
        ]
        lines += ["", "| Spearman over bands | " + " | ".join(pairs) + " |"]
        lines += ["|---|" + "---|" * len(pairs)]
        told = {
            p: f"{own['correlations'][p]:.2f} ({low:.2f} to {high:.2f})"
            for p, (low, high) in own["correlation_intervals"].items()
        }
        lines.append("| risk left, 95 % over seeds | " + " | ".join(told[p] for p in pairs) + " |")
        for label, table in (
            *(
                (f"risk left at sigma {s:g}", own["correlations_by_sigma"][i])
                for i, s in enumerate(settings["sigmas"])
            ),
            ("one-step drift", own["drift_correlations"]),
        ):
            lines.append(f"| {label} | " + " | ".join(f"{table[p]:.2f}" for p in pairs) + " |")
    lines += ["", "## Geometries", "", "| energy by band, Spearman | " + " | ".join(pairs) + " |"]
    lines += ["|---|" + "---|" * len(pairs)]
    for probe, table in found["geometry_correlations"].items():
        lines.append(f"| probe `{probe}` | " + " | ".join(f"{table[p]:.2f}" for p in pairs) + " |")
    return "\n".join(lines) + "\n"


def _bands(found: dict[str, Any]) -> int:
    return len(next(iter(next(iter(found["geometry"].values())).values())))


def _answer(found: dict[str, Any]) -> list[str]:
    """The question, answered by the numbers: orders against what the seeds allow, and sizes."""
    settings, data = found["settings"], found["data"]
    names = list(settings["parametrisations"])
    left = [value for own in data.values() for value in own["correlations"].values()]
    sure = [value for own in data.values() for value in own["reliability"].values()]
    alike = [
        own["correlation_intervals"][f"{a}, {b}"][1]
        >= np.sqrt(own["reliability"][a] * own["reliability"][b])
        for own in data.values()
        for a, b in combinations(names, 2)
    ]
    last = settings["sigmas"][-1]
    sizes = "; ".join(
        f"{name}: " + ", ".join(f"{n} {own['total_by_sigma'][n][-1]:.2g}" for n in names)
        for name, own in data.items()
    )
    drifts = [value for own in data.values() for value in own["drift_correlations"].values()]
    return [
        f"**The order of the bands by the risk that is left has correlations of {min(left):.2f} to "
        f"{max(left):.2f} between the three, where halves of the seeds agree at {min(sure):.2f} to "
        f"{max(sure):.2f}.** Profiles that differ by nothing but their seeds would correlate at "
        "the geometric mean of the two agreements: the 95 % interval over seeds reaches it for "
        f"{sum(alike)} of {len(alike)} pairs of parametrisations and data. So what is learned last "
        f"{'changes' if sum(alike) < len(alike) / 2 else 'hardly changes'} with the "
        "parametrisation. The size of the risk at the noisiest ratio, sigma = "
        f"{last:g}: {sizes}. The order of the drift of the first step, each of its own target, has "
        f"correlations of {min(drifts):.2f} to {max(drifts):.2f}.",
        "",
        "Learning rate and number of steps are the same for all and were tuned for none, and each "
        "network has the plain loss of what it predicts with levels drawn evenly on its path. So "
        "sizes are those of this protocol.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Whether the parametrisation changes what is learned last."
    )
    parser.add_argument("--settings", type=Path, default=Path(__file__).with_suffix(".toml"))
    parser.add_argument("--out", type=Path, default=Path("runs/parametrisation"))
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    settings = tomllib.loads(options.settings.read_text())
    if not options.report:
        rows = Study(settings, options.out).rows()
        with ROWS.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    with ROWS.open() as file:
        judgement = verdict(list(csv.DictReader(file)), settings)
    atomic_write(VERDICT, write_bytes((json.dumps(judgement, indent=1) + "\n").encode()))
    atomic_write(PAGE, write_bytes(page(judgement).encode()))


if __name__ == "__main__":
    main()
