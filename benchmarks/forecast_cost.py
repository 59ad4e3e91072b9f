"""What forecasts and risks cost, and how a forecast agrees with figure A: a bar for each.

    python benchmarks/forecast_cost.py

Written to `docs/results/forecast-benchmark.json`: Spearman's correlation of the drift along the
eigenvectors of figure A with the share learned there after 10 steps; seconds for 32 networks of
iddpm-16 at 1x8x8 and 1x16x16; the time of a gradient with its product over that of a plain gradient
of the same number of samples; seconds of the risk of a training of 300 steps at D = 256 with the
errors it ends with; and the time of the pilot of `sads rank` on the first pool of rankings, its
measurements included, over the time of that pool's trainings (three seeds of 400 steps, by the time
of 40 of them, without their sampling). Seconds are those of the processor, all
threads together, so that other work on the machine does not count.
"""

import csv
import json
import tempfile
import time
import tomllib
from pathlib import Path

import numpy as np
import torch

import sads
from sads.data.laws import Normal
from sads.diffusion import settings_for, train
from sads.directions.sets import Eigenvectors
from sads.inspection.jacobian_products import moving_parameters
from sads.learning import Optimum, Recipe, Scene
from sads.learning.one_step import batch_gradient, first_move
from sads.randomness import stream
from sads.ranking import rank_families
from sads.specs.coercion import as_splits
from sads.statistics.ranks import rank_correlation
from sads.storage.files import atomic_write, write_bytes

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
RANKING = Path(__file__).with_name("ranking.toml")
NETWORK, NETWORKS, REPEATS, STEPS = "iddpm-16", 32, 10, 40


def figure_a() -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of figure A, and the share learned after 10 steps, mean over its seeds."""
    with (RESULTS / "figure-A.csv").open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["step"] == "10" and r["seed"]]
    count = 1 + max(int(r["index"]) for r in rows)
    own = [[r for r in rows if int(r["index"]) == i] for i in range(count)]
    values = np.array([float(part[0]["eigenvalue"]) for part in own])
    return values, np.array([np.mean([float(r["learned"]) for r in part]) for part in own])


def agreement() -> dict[str, float]:
    """The drift along the eigenvectors of figure A against what was learned there."""
    eigenvalues, learned = figure_a()
    spectrum = sads.estimate_geometry(NETWORK, shape="1x8x8", networks=8_192).spectrum()
    same = float(np.abs(spectrum.eigenvalues / eigenvalues - 1).max())
    directions = Eigenvectors((1, 8, 8), spectrum)
    started = time.process_time()
    told = sads.forecast(
        NETWORK, "gaussian", shape="1x8x8", directions=directions, networks=NETWORKS,
        method="one step",
    )  # fmt: skip
    seconds = time.process_time() - started
    rho = rank_correlation(told.drift, learned)
    return {"spearman": rho, "eigenvalues_differ_by": same, "seconds_1x8x8": seconds}


def seconds_at(shape: str) -> float:
    """Seconds of a forecast of so many networks along bands of frequency."""
    started = time.process_time()
    sads.forecast(NETWORK, "gaussian", shape=shape, networks=NETWORKS, method="one step")
    return time.process_time() - started


def pair_over_gradient(shape: tuple[int, ...]) -> float:
    """Time of a gradient and a product over that of a gradient, of 64 samples each."""
    family, law = sads.network(NETWORK, shape=shape), Normal.white(int(np.prod(shape)))
    spectrum = sads.estimate_geometry(family, networks=256).spectrum()
    directions = Eigenvectors(shape, spectrum)
    scene = Scene(family, Optimum(law), law, directions, Recipe())
    network, generator = scene.member(0).eval(), stream(0, "a benchmark")
    batch, here = scene.batch(generator), scene.look(64, generator)
    parameters = list(network.parameters())

    def plain() -> None:
        loss = (network(batch.x, batch.t) - torch.zeros_like(batch.x)).square().mean()
        torch.autograd.grad(loss, parameters)

    def pair() -> None:
        moves = first_move(
            batch_gradient(scene, network, batch), moving_parameters(network), scene.recipe
        )
        scene.moved(network, moves, here)

    times = {}
    for name, run in (("plain", plain), ("pair", pair)):
        run()
        taken = []
        for _ in range(REPEATS):
            started = time.process_time()
            run()
            taken.append(time.process_time() - started)
        times[name] = float(np.median(taken))
    return times["pair"] / times["plain"]


def risk_cost() -> dict[str, float]:
    """Processor time of a trial's risk at D = 256, and its relative errors."""
    data = "rank-one:dct:0"
    trained = sads.train(NETWORK, data, iterations=300, batch_size=64, learning_rate=1e-3)
    started = time.process_time()
    risk = sads.risk(trained, data=data)
    seconds = time.process_time() - started
    parts = (risk.along, risk.along_error, risk.nats, risk.nats_error)
    along, along_error, nats, nats_error = (part or 0.0 for part in parts)
    return {
        "risk_seconds": seconds,
        "risk_total_error": risk.total_error / risk.total,
        "risk_along_error": along_error / along,
        "risk_nats_error": nats_error / nats,
    }


def pilot_over_training() -> float:
    """Processor time of a pilot over that of the trainings that it foretells."""
    pool = tomllib.loads(RANKING.read_text())
    protocol, grid = pool["protocol"], pool["grid"][0]
    families = [sads.network(name, shape=grid["shape"]) for name in grid["networks"]]
    training, held_out = as_splits(grid["data"][0], shape=families[0].shape)
    pilot, step = sads.PilotProtocol(), {}
    for family in families:
        settings = settings_for(family, iterations=STEPS, batch_size=pilot.batch_size)
        started = time.process_time()
        train(family, training.samples, settings)
        step[family.name] = (time.process_time() - started) / STEPS
    whole = len(pool["seeds"]) * protocol["iterations"] * sum(step.values())
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        rank_families(families, training, held_out, pilot=pilot, out=Path(folder))
        return (time.process_time() - started) / whole


def main() -> None:
    torch.set_num_threads(1)
    content = {"network": NETWORK, "networks": NETWORKS, "threads": torch.get_num_threads()}
    content |= agreement()
    content["seconds_1x16x16"] = seconds_at("1x16x16")
    content["pair_over_gradient"] = pair_over_gradient((1, 8, 8))
    content |= risk_cost()
    content["pilot_over_training"] = pilot_over_training()
    bars = {"spearman": 0.85, "seconds_1x8x8": 30, "seconds_1x16x16": 120, "pair_over_gradient": 3}
    bars |= {"risk_seconds": 10, "risk_total_error": 0.02}
    bars |= {"risk_along_error": 0.05, "risk_nats_error": 0.05, "pilot_over_training": 0.1}
    content = {k: round(v, 4) if isinstance(v, float) else v for k, v in content.items()}
    text = json.dumps(content | {"bars": bars}, indent=1) + "\n"
    atomic_write(RESULTS / "forecast-benchmark.json", write_bytes(text.encode()))
    print(text)


if __name__ == "__main__":
    main()
