"""Held-out SW2 of models trained on rotated digits, by rotation and rank.

    python benchmarks/rotations.py run [--mnist DIR] [--workers 2]   trains what is not in the table
    python benchmarks/rotations.py report                            means, errors, differences
    python benchmarks/rotations.py draw                              SW2 against rank, and samples

Every training of a seed has the same initial network, data order and noise; only the rotation
differs. The trials that have no row in `docs/results/rotations.csv` are a sweep under
`runs/rotations`; a stopped run goes on from there.
"""

import argparse
import csv
import io
import itertools
import statistics
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
PROTOCOL: dict[str, Any] = {
    "preset": "laptop",
    "batch_size": 64,
    "learning_rate": 1e-3,
    "samples": 500,
    "steps": 50,
    "train": 10_000,
}
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
SHAPES = {"digits": (1, 8, 8), "mnist": (1, 16, 16)}


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
    """Run the trials that have no row yet as one sweep, and add their rows to the table."""
    import sads
    from sads.sweep import Specification, read_rows, run_sweep

    sources = {"digits": "digits"}
    if mnist:
        sources["mnist"] = f"mnist:{mnist},size=16"
    rows: list[dict] = list(read_table())
    done = {(r["data"], r["rotation"], str(r["rank"]), int(r["seed"])) for r in rows}
    grids = []
    for data, (rotation, rank), seed in itertools.product(sources, ROTATIONS, SEEDS):
        if (data, rotation, str(rank or ""), seed) in done:
            continue
        for budget in BUDGETS[data]:
            grid: dict[str, Any] = {
                "networks": ["iddpm-16"],
                "shape": "x".join(map(str, SHAPES[data])),
                "data": [sources[data]],
                "geometry": str(WORK / f"geometry-{data}"),
                "rotations": [rotation],
                "seeds": [seed],
                "protocol": PROTOCOL | {"iterations": budget},
            }
            grids.append(grid if rank is None else grid | {"ranks": [rank]})
    if not grids:
        print("every trial has its row")
        return
    for data in sources:
        if not (WORK / f"geometry-{data}").exists():
            sads.estimate_geometry(
                "iddpm-16", shape=SHAPES[data], networks=16_384, out=WORK / f"geometry-{data}"
            )
    plan = Specification.model_validate(
        {"protocol": PROTOCOL, "seeds": list(SEEDS), "keep": "samples", "grid": grids}
    )
    out = WORK / "sweep"
    run_sweep(plan, out, workers=workers)
    names = {source: data for data, source in sources.items()}
    _, trials = read_rows(out)
    rows += [_row(names[t["data"]], t, out) for t in trials if t["status"] == "done"]
    write_table(rows)


def _row(data: str, trial: dict[str, Any], out: Path) -> dict[str, Any]:
    """A line of the table from a trial of the sweep; some of its samples are kept for drawing."""
    import numpy as np
    import torch

    from sads.alignment import align, make_rotation
    from sads.geometry import load_geometry
    from sads.specs.coercion import as_dataset
    from sads.sweep.store.layout import Layout, read_published

    geometry = load_geometry(WORK / f"geometry-{data}")
    training = as_dataset(trial["data"], shape=geometry.shape, split="train")
    budget = trial["protocol"]["iterations"]
    turned = training.samples
    if trial["rotation"] != "identity":
        turn = make_rotation(
            trial["rotation"],
            geometry=geometry,
            data=training,
            rank=trial["rank"],
            seed=trial["seed"],
        )
        turned = turn(torch.from_numpy(turned)).numpy()
    aligned = align(geometry, turned)
    name = f"{data}-{trial['rotation']}-{trial['rank'] or 'all'}-{trial['seed']}-{budget}.npy"
    (WORK / "samples").mkdir(parents=True, exist_ok=True)
    np.save(WORK / "samples" / name, read_published(Layout(out), trial["artefact"])["samples"][:64])
    return {
        "data": data,
        "rotation": trial["rotation"],
        "rank": trial["rank"] or "",
        "seed": trial["seed"],
        "steps": budget,
        "sw2": round(trial["sw2"], 5),
        "sw2_error": round(trial["standard_error"], 5),
        "msw2": round(trial["msw2"], 5),
        "alpha": round(aligned.alpha, 3),
        "relative": round(aligned.relative, 5),
        "loss": round(trial["loss"], 5),
        "seconds": round(trial["train_seconds"], 1),
    }


def report() -> None:
    """Means, standard errors and paired differences, as Markdown."""
    rows = read_table()
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
    for axes, (name, samples) in zip(
        figure.subplots(len(known), 1, squeeze=False)[:, 0], known, strict=True
    ):
        axes.imshow(np.hstack(samples[:10, 0]), cmap="gray", vmin=-1, vmax=1)
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
