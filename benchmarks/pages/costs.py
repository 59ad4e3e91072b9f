"""Tables of what geometries, distances, training and reports cost, from the rows of benchmarks."""

import csv
import json
from collections.abc import Mapping
from typing import Any

from .markdown import ROWS, Lines, number, table


def _rows(name: str) -> Any:
    return json.loads((ROWS / f"{name}.json").read_text())


def geometry_costs() -> Lines:
    """Time and memory of geometries."""
    lines = [
        (
            f"`{row['network']}`",
            f"{row['networks']:,}",
            number(row["error"], 2),
            f"{row['seconds']:.0f}",
            number(row["gib_with_spectrum"], 2),
            number(row["float64_check"], 1),
        )
        for row in _rows("geometry-benchmark")["bars"]
    ]
    header = ("network", "networks", "whitened error", "seconds", "GiB", "float64 differs by")
    return table(header, lines)


def precision() -> Lines:
    """How far float32 is from float64 with the usual norm and with ours."""
    lines = []
    for row in _rows("precision"):
        loop, stacked, ours = (
            row[kind]
            for kind in ("usual norm, one by one", "usual norm, stacked", "our norm, one by one")
        )
        distances = [number(own["whitened_distance"], 1) for own in (loop, stacked, ours)]
        overlaps = [_overlap(loop["overlap"][count]) for count in ("1", "100")]
        lines.append((f"`{row['network']}`", f"{row['networks']:,}", *distances, *overlaps))
    first = "first eigenvector: overlap squared, loop"
    header = ("network", "networks", "whitened distance: loop", "stacked", "our norm, loop")
    return table((*header, first, "first 100: loop"), lines)


def _overlap(value: float) -> str:
    """An overlap; near 1 what it lacks is told."""
    return f"1 - {1 - value:.0e}" if value > 0.999 else number(value, 2)


def large_models() -> Lines:
    """Geometries of foundation models, from their configuration alone."""
    with open(ROWS / "large-models.csv", newline="") as file:
        lines = [
            (
                row["network"],
                f"{float(row['parameters']) / 1e6:.0f} M",
                f"{int(row['dimensions']):,}",
                row["networks"],
                row["whitened_error"],
                row["cpu_minutes"],
                row["wall_minutes"],
                row["peak_gigabytes"],
            )
            for row in csv.DictReader(file)
        ]
    about = ("network", "parameters", "D", "networks", "whitened error")
    return table((*about, "CPU minutes", "wall minutes", "peak GB"), lines)


def distance_costs() -> Lines:
    """SW2 by `sads` and by POT."""
    lines = []
    for row in _rows("distances-benchmark"):
        pot = row["pot"]
        lines.append(
            (
                f"{row['samples']:,} x {row['dimensions']:,}, {row['directions']:,} directions",
                _spent(row),
                f"not run: its arrays alone need {row['pot_arrays_gigabytes']} GB"
                if pot is None
                else f"{_spent(pot)} ({number(pot['seconds'] / row['seconds'], 2)} times slower)",
            )
        )
    return table(("case", "`sads`", "POT"), lines)


def _spent(row: Mapping[str, Any]) -> str:
    """Seconds, and the memory beyond the inputs where it was measured."""
    memory = row["gigabytes"]
    known = "" if memory is None else f", {number(memory, 2)} GB beyond the inputs"
    return f"{number(row['seconds'])} s{known}"


def training_costs() -> Lines:
    """Images a second with and without the compiler."""
    rows = _rows("training-benchmark")
    lines = [
        (
            name,
            f"{rows[key]['plain']:,.0f}",
            f"{rows[key]['compiled']:,.0f}",
            number(rows[key]["ratio"]),
        )
        for name, key in (("training", "train"), ("sampling", "sample"))
    ]
    return table(("", "plain eager loop", "`--compile`", "ratio"), lines)


def training_metrics() -> Lines:
    """SW2 after trainings that differ in arithmetic alone."""
    rows = {(row["seed"], row["kind"]): row["sw2"] for row in _rows("training-metrics")}
    kinds = ("plain", "compile", "bfloat16")
    lines = [
        (seed, *(f"{rows[seed, kind]:.4f}" if (seed, kind) in rows else "" for kind in kinds))
        for seed in sorted({seed for seed, _ in rows})
    ]
    return table(("seed", "plain", "`--compile`", "`--bfloat16`"), lines)


def report_costs() -> Lines:
    """Size and speed of reports in a browser."""
    lines = [
        (
            f"`{row['network']}`",
            f"{row['size']:,}",
            number(row["bytes"] / 1e6, 2),
            f"{row['first_paint_seconds']:.2f} s",
            f"{row['click_milliseconds']:.0f} ms",
        )
        for row in _rows("report-benchmark")
    ]
    return table(("network", "D", "MB", "first paint", "click to image"), lines)
