"""What the certified geometry costs, against the loop that anyone would write first.

    python benchmarks/geometry.py          the ladder and the bar for iddpm-16
    python benchmarks/geometry.py --large  also the long run and the larger presets

The ladder gives, for each step from the naive loop to ours, the time to reach the same whitened
error e in one run on one machine:

    seconds = (v / e^2) / rate

`rate` is measured: networks per second. `v` is the whitened variance of one network's
contribution: independent contributions have the error sqrt(v / n) after n networks, so v / e^2
networks are needed. For the naive loop v = E[(w_t eps^T G^{-1} eps)^2] / D - 1; the expectation is
taken with t drawn in proportion to w_t^2, which has the same value and far less noise than t
uniform. For the integrated steps v = n e^2 of a run of n networks. The line "check" compares a
naive run with its prediction.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from sads.directions.symmetry import sectors
from sads.directions.whitening import halves_error, whitened_distance
from sads.geometry import Geometry, Zero, estimate_geometry
from sads.geometry.estimators import Naive
from sads.geometry.plan import TimestepLaw
from sads.geometry.source import prepare
from sads.inspection.readout import readout_of
from sads.networks import UNet, preset_family

NAME, TARGET = "iddpm-16", 0.006
REFERENCE_NETWORKS = 32_768
NAIVE_CHECK = 12_288


def naive_rate(seconds: float) -> float:
    """A fresh module per network, one outer product, as anyone would write it."""
    family = preset_family(NAME)
    weights = family.schedule.score_weights
    total = torch.zeros(family.size, family.size, dtype=torch.float64)
    x = torch.zeros(1, *family.shape)
    count, started = 0, time.perf_counter()
    with torch.no_grad():
        while time.perf_counter() - started < seconds:
            network = family.factory().eval()
            t = torch.randint(family.schedule.steps, (1,))
            eps = network(x, t).flatten().double()
            total += float(weights[t]) * torch.outer(eps, eps)
            count += 1
    return count / (time.perf_counter() - started)


def read_out_rate(seconds: float) -> float:
    """A fresh module per network, its last layer integrated."""
    family = preset_family(NAME)
    readout = readout_of(UNet(family.shape))
    total = torch.zeros(family.size, family.size, dtype=torch.float64)
    x = torch.zeros(1, *family.shape)
    count, started = 0, time.perf_counter()
    with torch.no_grad():
        while time.perf_counter() - started < seconds:
            network = UNet(family.shape).eval()
            total += readout.moment(network.features(x, torch.randint(1000, (1,))))
            count += 1
    return count / (time.perf_counter() - started)


def naive_variance(reference: Geometry, networks: int) -> dict[str, float]:
    """V of one outer product, with t uniform and with t drawn in proportion to w_t."""
    family = preset_family(NAME)
    source = prepare(
        family,
        Zero(),
        estimator=Naive(),
        weighting="score",
        timesteps=None,
        seed=5,
        device="cpu",
        zero_output="explain",
    )
    weights = family.schedule.score_weights
    c = weights.mean()
    inverse = np.linalg.inv(reference.matrix() / c)
    found = {}
    for name, power in (("naive", 2), ("drawn t", 1)):
        law = TimestepLaw(weights**power / np.sum(weights**power), weights)
        tilted = replace(source, law=law)
        squares = []
        for batch in range(networks // 64):
            rng = np.random.default_rng([batch, power])
            t, x = tilted.inputs(64, rng)
            eps = tilted.ensemble.evaluate(x, t, rng, torch.float32).h.flatten(1).double().numpy()
            squares.append(np.einsum("ni,ij,nj->n", eps, inverse, eps) ** 2)
        # E_uniform[w^2 q^2] = mean(w^2) E_{t ~ w^2}[q^2], and c^2 E_{t ~ w}[q^2] when t is drawn.
        spread = np.mean(weights**2) / c**2 if name == "naive" else 1.0
        found[name] = float(spread * np.mean(squares) / family.size - 1)
    return found


def ladder() -> dict:
    family = preset_family(NAME)
    started = time.perf_counter()
    reference = estimate_geometry(family, networks=REFERENCE_NETWORKS, seed=1)
    rates = {"naive": naive_rate(15), "read-out": read_out_rate(15)}
    rates["many at once"] = reference.networks / reference.state.seconds
    variances = naive_variance(reference, 4096)
    plain = halves_error(*reference.halves(), sectors(reference.structure, ()))
    variances["read-out"] = reference.networks * plain**2
    variances["symmetry"] = reference.networks * (reference.whitened_error or np.nan) ** 2
    rows = []
    for name, variance, rate in (
        ("naive loop", variances["naive"], rates["naive"]),
        ("+ drawing t", variances["drawn t"], rates["naive"]),
        ("+ read-out", variances["read-out"], rates["read-out"]),
        ("+ many at once", variances["read-out"], rates["many at once"]),
        ("+ symmetry", variances["symmetry"], rates["many at once"]),
    ):
        rows.append(
            {"step": name, "v": variance, "rate": rate, "seconds": variance / TARGET**2 / rate}
        )
    for row in rows:
        row["times"] = rows[0]["seconds"] / row["seconds"]
    check = estimate_geometry(family, networks=NAIVE_CHECK, estimator="naive", seed=2)
    measured = whitened_distance(check.factor, reference.factor, reference.factor)
    return {
        "network": NAME,
        "target": TARGET,
        "rows": rows,
        "check": {
            "networks": NAIVE_CHECK,
            "predicted": (variances["naive"] / NAIVE_CHECK) ** 0.5,
            "measured": measured,
        },
        "wall": time.perf_counter() - started,
    }


def bar(name: str, **options: float) -> dict:
    """One estimate in a process of its own: time, peak memory, error, windows."""
    code = (
        "import json, sys, resource\n"
        "import sads\n"
        "g = sads.estimate_geometry(sys.argv[1], **json.loads(sys.argv[2]))\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20\n"
        "s = g.spectrum()\n"
        "print(json.dumps(dict(network=sys.argv[1], networks=g.networks, seconds=g.state.seconds,"
        " error=g.whitened_error, gib=peak,"
        " gib_with_spectrum=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,"
        " precision=g.plan.precision.features, float64_check=g.plan.precision.difference,"
        " median=s.resolution_median, worst=s.resolution_worst)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, name, json.dumps(options)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def show(found: dict) -> None:
    print(f"\n{found['network']}: time to a whitened error of {found['target']} on two cores")
    print(f"{'step':18}{'v':>12}{'networks/s':>12}{'seconds':>14}{'times faster':>14}")
    for r in found["rows"]:
        print(
            f"{r['step']:18}{r['v']:12.3f}{r['rate']:12.1f}{r['seconds']:14.1f}{r['times']:14.0f}"
        )
    c = found["check"]
    print(
        f"check: {c['networks']:,} naive networks, error predicted {c['predicted']:.2f}, "
        f"measured {c['measured']:.2f}"
    )


def show_bar(b: dict) -> None:
    print(
        f"{b['network']}: whitened error {b['error']:.4f} from {b['networks']:,} networks in "
        f"{b['seconds']:.1f} s, {b['gib']:.2f} GiB, {b['gib_with_spectrum']:.2f} with spectrum, "
        f"{b['precision']} (float64 differs by {b['float64_check']:.1e}); directions known "
        f"to within {b['median']} levels (median), {b['worst']} (worst)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    runs = [(NAME, {"tolerance": TARGET})]
    if arguments.large:
        runs += [
            (NAME, {"networks": 150_000}),
            ("iddpm-cifar10", {"tolerance": 0.05}),
            ("iddpm-celeba", {"tolerance": 0.1}),
        ]
    bars = []
    for name, options in runs:
        bars.append(bar(name, **options))
        show_bar(bars[-1])
    forecast = ladder()
    show(forecast)
    if arguments.json:
        arguments.json.write_text(json.dumps({"ladder": forecast, "bars": bars}, indent=1) + "\n")


if __name__ == "__main__":
    main()
