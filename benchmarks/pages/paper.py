"""Tables of the figures that make their own rows, of the ranking and of the ladder of cost."""

import csv
import json
from collections.abc import Mapping
from typing import Any

from sads.figures import FIGURES
from sads.figures.catalogue import file_name
from sads.statistics.shapes import LEAST_SEEDS

from .markdown import ROWS, Lines, badge, measured, number, table

#: Where a figure of few seeds was asked again, with five or more and registered beforehand;
#: faces were not.
AGAIN = {
    "1": "results/order.md",
    "2": "results/order.md",
    "6": "results/order.md",
    "7": "results/rotations.md",
    "8": "results/rotations.md",
    "10": "results/rotations.md",
}
TRAINED = {"1", "2", "6", "7", "8", "10", "A", "B", "C", "D"}  # figures whose unit is a seed


def claims_of_the_paper() -> Lines:
    """Every finding of the figures that make their own rows."""
    rows = []
    for key in FIGURES:
        content = json.loads((ROWS / f"{file_name(key)}.json").read_text())
        seeds = _seeds(key, content)
        for found in content["findings"]:
            word = badge(found["holds"], found["interval"], found["value"])
            few = seeds is not None and seeds < LEAST_SEEDS
            asked_again = key in AGAIN and not found["claim"].startswith("faces")
            again = f", [with more]({AGAIN[key]})" if asked_again else ""
            reason = f" ({seeds} seeds{again})" if few else ""
            if few:
                word = "open"
            value = measured(found["value"], found["interval"])
            rows.append((key, found["claim"], f"{found['statistic']}: {value}", word + reason))
    return table(("figure", "claim", "measured, 95 %", ""), rows)


def _seeds(key: str, content: Mapping[str, Any]) -> int | None:
    """Seeds behind a figure of trainings; None where the unit is another."""
    if key not in TRAINED:
        return None
    named = content["protocol"].get("seeds")
    if isinstance(named, int):
        return named
    if isinstance(named, list):
        return len(named)
    with open(ROWS / f"{file_name(key)}.csv", newline="") as file:
        return len({row["seed"] for row in csv.DictReader(file)})


def ranking() -> Lines:
    """SW2 of twelve architectures with the alignment score."""
    with open(ROWS / "ranking-scores.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    by = {(row["dataset"], row["network"]): row for row in rows}
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    names = sorted(
        dict.fromkeys(row["network"] for row in rows),
        key=lambda name: float(by[datasets[0], name]["sw2"]),
    )
    lines = []
    for name in names:
        cells = []
        for data in datasets:
            own = by[data, name]
            cells += [
                f"{number(float(own['sw2']))} ± {number(float(own['sw2_error']), 2)}",
                number(float(own["alignment"])),
            ]
        lines.append((f"`{name}`", *cells, f"{int(by[datasets[0], name]['parameters']):,}"))
    header = [cell for data in datasets for cell in (f"SW2, {data}", "score")]
    return table(("network", *header, "parameters"), lines)


def ladder() -> Lines:
    """What makes a geometry cheap."""
    content = json.loads((ROWS / "geometry-benchmark.json").read_text())["ladder"]
    lines = [
        (
            row["step"],
            f"{row['v']:,.3g}",
            number(row["rate"]),
            f"{row['seconds']:,.0f}",
            f"{row['times']:,.0f}",
        )
        for row in content["rows"]
    ]
    header = ("step", "variance of one network", "networks/s", "seconds", "times faster")
    return table(header, lines)
