"""Held-out SW2 of models trained on rotated digits, by rotation and rank.

    python benchmarks/rotations.py run [--mnist DIR] [--workers 2]   trains what is not in the table
    python benchmarks/rotations.py report                            means, errors, differences;
                                              what `sads rotate` and `sads report` say of them
    python benchmarks/rotations.py draw                              SW2 against rank, and samples

Every training of a seed has the same initial network, data order and noise; only the rotation
differs. One training gives both budgets: it is sampled after the first and goes on to the second.
Rows are kept in `docs/results/rotations.csv` as they come; a stopped run goes on from there.
"""

import argparse
import csv
import io
import itertools
import json
import multiprocessing
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

TABLE = Path("docs/results/rotations.csv")
WORK = Path("runs/rotations")
IMAGES = Path("docs/images")
LINES = (
    ("min", "the smallest eigenvalues", "#0072b2"),
    ("random", "random directions", "#d55e00"),
)
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
TOLD = {"digits": "8x8 digits", "mnist": "16x16 MNIST"}  # what commands say, of these rotations:
TOLD_ROTATIONS: list[tuple[str, int | None]] = [
    ("identity", None),
    ("min", None),
    ("random", None),
    ("min", 1),
]


def trial(data: str, source: str, rotation: str, rank: int | None, seed: int) -> list[dict]:
    """Train and sample at both budgets; one row for each."""
    import numpy as np
    import torch

    from sads import api, load_geometry
    from sads.alignment import align
    from sads.distances import sliced_wasserstein
    from sads.specs.sources import as_dataset

    torch.set_num_threads(1)
    geometry = load_geometry(WORK / f"geometry-{data}")
    family = api.network("iddpm-16", shape=SHAPES[data])
    held_out = as_dataset(source, split="held-out").samples
    training = as_dataset(source, split="train")
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
            x = api.sample(found, SAMPLES, steps=STEPS, seed=seed).reshape(SAMPLES, -1)
            distance = sliced_wasserstein(x, target, generator=0)
            turn = found.rotation
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
    from sads.storage.files import atomic_write, write_bytes

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
    """Means, standard errors and paired differences, as Markdown; and what commands say."""
    from sads.alignment.measured_rotations import FILE
    from sads.storage.files import atomic_write, write_bytes

    rows = read_table()
    atomic_write(FILE, write_bytes(f"{json.dumps(told(rows), indent=1)}\n".encode()))
    for data, steps in sorted({(r["data"], int(r["steps"])) for r in rows}):
        part = [r for r in rows if r["data"] == data and int(r["steps"]) == steps]
        groups: dict[tuple[str, str], dict[str, float]] = {}
        for r in part:
            groups.setdefault((r["rotation"], r["rank"]), {})[r["seed"]] = float(r["sw2"])
        print(f"\n{data}, {steps} steps\n")
        print("| rotation | rank | seeds | SW2 | minus identity | minus random |")
        print("| --- | --- | --- | --- | --- | --- |")
        for name in ROTATIONS:
            values = groups.get((name[0], "" if name[1] is None else str(name[1])))
            if values is None:
                continue
            gaps = [
                mean_error([values[s] - base[s] for s in values if s in base])
                for base in (groups[("identity", "")], groups[("random", "")])
            ]
            print(
                f"| {name[0]} | {name[1] or 'all'} | {len(values)} | "
                f"{mean_error(list(values.values()))} | {' | '.join(gaps)} |"
            )


def told(rows: list[dict[str, str]]) -> list[dict[str, Any]]:
    """The rows of `sads.alignment.measured_rotations`."""
    kinds = [(d, r, k, s) for d in TOLD for r, k in TOLD_ROTATIONS for s in BUDGETS[d]]
    return [
        {
            "data": TOLD[data],
            "rotation": rotation,
            "rank": rank,
            "steps": steps,
            "sw2": [
                float(row["sw2"])
                for row in sorted(rows, key=_order)
                if (row["data"], row["rotation"]) == (data, rotation)
                and (row["rank"], int(row["steps"])) == (str(rank or ""), steps)
            ],
        }
        for data, rotation, rank, steps in kinds
    ]


def mean_error(values: list[float]) -> str:
    """Mean and standard error."""
    return f"{statistics.fmean(values):.3f} ± {_error(values):.3f}"


def _error(values: list[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")


def draw() -> None:
    """SW2 against the rank of W_min for each dataset, and samples of one seed beside it."""
    for data in SHAPES:
        rows = [r for r in read_table() if r["data"] == data]
        _draw_ranks(data, rows)
        _draw_samples(data)


def _draw_ranks(data: str, rows: list[dict[str, str]]) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    figure = Figure(figsize=(6.4, 2.8), layout="constrained", dpi=200)
    panels = figure.subplots(1, 2, sharey=True)
    whole = SHAPES[data][1] * SHAPES[data][2]
    for axes, steps in zip(panels, BUDGETS[data], strict=True):
        for rotation, label, colour in LINES:
            by_rank: dict[int, list[float]] = {}
            for r in rows:
                if int(r["steps"]) == steps and r["rotation"] in (rotation, "identity"):
                    rank = 0 if r["rotation"] == "identity" else int(r["rank"] or whole)
                    by_rank.setdefault(rank, []).append(float(r["sw2"]))
            ranks = sorted(by_rank)
            means = [statistics.fmean(by_rank[k]) for k in ranks]
            errors = [_error(by_rank[k]) for k in ranks]
            axes.errorbar(ranks, means, errors, marker="o", markersize=4, color=colour, label=label)
        axes.set_xscale("symlog", base=4, linthresh=1)
        axes.set_yscale("log")
        ticks = sorted({0, 1, 4, 16, 64, whole})
        axes.set_xticks(ticks, [str(k) for k in ticks])
        axes.set_xlabel("leading data directions moved, k")
        axes.set_title(f"{steps} steps", fontsize=9)
    panels[0].set_ylabel("held-out SW$_2$")
    panels[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panels[0].yaxis.set_major_formatter("{x:g}")
    panels[0].yaxis.set_minor_formatter(NullFormatter())
    panels[1].legend(title="moved to", fontsize=8)
    figure.savefig(IMAGES / f"rotations-{data}-rank.png")


def _draw_samples(data: str) -> None:
    import numpy as np
    from matplotlib.figure import Figure

    size = SHAPES[data][1] * SHAPES[data][2]
    names = [f"{kind}-{rank or 'all'}" for kind, rank in ROTATIONS if rank != size]
    places = [WORK / "samples" / f"{data}-{name}-0-{BUDGETS[data][1]}.npy" for name in names]
    known = [
        (name, np.load(place)) for name, place in zip(names, places, strict=True) if place.exists()
    ]
    figure = Figure(figsize=(6.4, 0.72 * len(known)), layout="constrained", dpi=200)
    for axes, (name, found) in zip(
        figure.subplots(len(known), 1, squeeze=False)[:, 0], known, strict=True
    ):
        axes.imshow(np.hstack(found[:10, 0]), cmap="gray", vmin=-1, vmax=1)
        kind, rank = name.split("-")
        label = kind if rank == "all" else f"{kind}, k = {rank}"
        axes.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8)
        axes.set(xticks=[], yticks=[])
    figure.savefig(IMAGES / f"rotations-{data}.png")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Rotations of digits, trained and measured.")
    parser.add_argument("what", choices=["run", "report", "draw"])
    parser.add_argument("--mnist", help="directory with the IDX files; without it digits alone")
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.what == "run":
        run(chosen.mnist, chosen.workers)
    else:
        {"report": report, "draw": draw}[chosen.what]()


if __name__ == "__main__":
    main()
