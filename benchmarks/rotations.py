"""Held-out SW2 of models trained on rotated digits, by rotation and rank.

    python benchmarks/rotations.py run [--mnist DIR] [--workers 2]   trains what is not in the table
    python benchmarks/rotations.py report                            means, errors, differences

Every training of a seed has the same initial network, data order and noise; only the rotation
differs. One training gives both budgets: it is sampled after the first and goes on to the second.
Rows are kept in `docs/results/rotations.csv` as they come; a stopped run goes on from there.
"""

import argparse
import csv
import io
import itertools
import multiprocessing
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

TABLE = Path("docs/results/rotations.csv")
WORK = Path("runs/rotations")
FIELDS = ["data", "rotation", "rank", "seed", "steps", "sw2", "sw2_error", "msw2"]
FIELDS += ["alpha", "relative", "loss", "seconds"]
# MNIST needs longer before any rotation shows.
BUDGETS = {"digits": (150, 600), "mnist": (250, 1000)}
PROTOCOL: dict[str, Any] = {"batch_size": 64, "learning_rate": 1e-3}
SAMPLES, STEPS = 500, 50
SEEDS = range(5)
# The four of the question first, then how many directions have to move.
ROTATIONS: list[tuple[str, int | None]] = [
    ("identity", None),
    ("min", None),
    ("max", None),
    ("random", None),
    ("min", 1),
    ("min", 4),
    ("min", 16),
    ("random", 16),
    ("min", 64),
]
FULL = 4
SHAPES = {"digits": (1, 8, 8), "mnist": (1, 16, 16)}


def trial(data: str, source: str, rotation: str, rank: int | None, seed: int) -> list[dict]:
    """Train and sample at both budgets; one row for each."""
    import numpy as np
    import torch

    from sads import api, load_geometry
    from sads.alignment import align
    from sads.diffusion import stored_rotation
    from sads.distances import sliced_wasserstein
    from sads.specs import parse_dataset

    torch.set_num_threads(1)
    geometry = load_geometry(WORK / f"geometry-{data}")
    family = api.network("iddpm-16", shape=SHAPES[data])
    held_out = parse_dataset(source, split="held-out").samples
    training = parse_dataset(source, split="train")
    target = held_out.reshape(len(held_out), -1)
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for budget in BUDGETS[data]:
            found = api.train(
                family,
                training,
                rotation=rotation,
                geometry=None if rotation == "identity" else geometry,
                rank=rank,
                iterations=budget,
                seed=seed,
                out=directory,
                **PROTOCOL,
            )
            drawn = api.sample(directory, SAMPLES, steps=STEPS, seed=seed, source=family)
            x = torch.cat(list(drawn)).flatten(1).numpy()
            distance = sliced_wasserstein(x, target, generator=0)
            turn = stored_rotation(Path(directory))
            z = turn(torch.from_numpy(training.samples)).numpy() if turn else training.samples
            aligned = align(geometry, np.asarray(z))
            keep = WORK / "samples" / f"{data}-{rotation}-{rank or 'all'}-{seed}-{budget}.npy"
            np.save(keep, x[:64].reshape(-1, *SHAPES[data]))
            rows.append(
                {
                    "data": data,
                    "rotation": rotation,
                    "rank": "" if rank is None else rank,
                    "seed": seed,
                    "steps": budget,
                    "sw2": round(distance.sw2, 5),
                    "sw2_error": round(distance.standard_error, 5),
                    "msw2": round(distance.msw2, 5),
                    "alpha": round(aligned.alpha, 3),
                    "relative": round(aligned.relative, 5),
                    "loss": round(found.losses[-50:].mean().item(), 5),
                    "seconds": round(found.seconds, 1),
                }
            )
    return rows


def read_table() -> list[dict[str, str]]:
    """Rows so far."""
    if not TABLE.exists():
        return []
    return list(csv.DictReader(TABLE.read_text().splitlines()))


def _order(row: dict) -> tuple:
    numbers = (int(row[name] or 0) for name in ("rank", "seed", "steps"))
    return row["data"], row["rotation"], *numbers


def write_table(rows: list[dict]) -> None:
    """All rows, in a fixed order, atomically."""
    from sads.storage import atomic_write, write_bytes

    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=_order))
    atomic_write(TABLE, write_bytes(text.getvalue().encode()))


def run(mnist: str | None, workers: int) -> None:
    """Train everything that has no row yet: the full rotations first, seed by seed."""
    from sads import api

    sources = {"digits": "digits"}
    if mnist:
        sources["mnist"] = f"mnist:{mnist},size=16,count=10000"
    (WORK / "samples").mkdir(parents=True, exist_ok=True)
    for data in sources:
        if not (WORK / f"geometry-{data}").exists():
            api.estimate_geometry(
                "iddpm-16", shape=SHAPES[data], networks=16_384, out=WORK / f"geometry-{data}"
            )
    rows: list[dict] = list(read_table())
    done = {(r["data"], r["rotation"], str(r["rank"]), int(r["seed"])) for r in rows}
    wanted = [
        (data, sources[data], rotation, rank, seed)
        for part, data in itertools.product((ROTATIONS[:FULL], ROTATIONS[FULL:]), sources)
        for seed, (rotation, rank) in itertools.product(SEEDS, part)
        if (data, rotation, "" if rank is None else str(rank), seed) not in done
    ]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        for future in as_completed([pool.submit(trial, *what) for what in wanted]):
            rows += future.result()
            write_table(rows)
            print(future.result()[-1], flush=True)


def report() -> None:
    """Means, standard errors and paired differences, as Markdown."""
    rows = read_table()
    for data, steps in sorted({(r["data"], int(r["steps"])) for r in rows}):
        part = [r for r in rows if r["data"] == data and int(r["steps"]) == steps]
        groups: dict[tuple[str, str], dict[str, float]] = {}
        for r in part:
            groups.setdefault((r["rotation"], r["rank"]), {})[r["seed"]] = float(r["sw2"])
        base = groups[("identity", "")]
        print(f"\n{data}, {steps} steps\n\n| rotation | rank | seeds | SW2 | minus identity |")
        print("| --- | --- | --- | --- | --- |")
        for name in ROTATIONS:
            values = groups.get((name[0], "" if name[1] is None else str(name[1])))
            if values is None:
                continue
            gaps = [values[s] - base[s] for s in values if s in base]
            print(
                f"| {name[0]} | {name[1] or 'all'} | {len(values)} | "
                f"{mean_error(list(values.values()))} | {mean_error(gaps)} |"
            )


def mean_error(values: list[float]) -> str:
    """Mean and standard error."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{statistics.fmean(values):.3f} ± {error:.3f}"


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Rotations of digits, trained and measured.")
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--mnist", help="directory with the IDX files; without it digits alone")
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    report() if chosen.what == "report" else run(chosen.mnist, chosen.workers)


if __name__ == "__main__":
    main()
