"""The page about parametrisations says what its rows say."""

import csv
import json
import runpy
import tomllib
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
BENCHMARK = ROOT / "benchmarks" / "parametrisation.py"


def test_the_page_is_made_from_the_rows():
    made = runpy.run_path(str(BENCHMARK))
    settings = tomllib.loads(BENCHMARK.with_suffix(".toml").read_text())
    with made["ROWS"].open() as file:
        rows = list(csv.DictReader(file))
    trained = [row for row in rows if row["kind"] == "risk"]
    pairs = len(settings["parametrisations"]) * len(settings["data"]) * len(settings["seeds"])
    bands = len({row["band"] for row in rows})
    assert len(trained) == pairs * len(settings["sigmas"]) * bands  # every registered training
    verdict = made["verdict"](rows, settings)
    assert made["page"](verdict) == made["PAGE"].read_text(), "run it with --report"
    stored = json.loads(made["VERDICT"].read_text())
    assert stored["data"].keys() == settings["data"].keys()
    assert stored["settings"] == settings


def test_intervals_of_correlations_follow_the_seeds():
    intervals = runpy.run_path(str(BENCHMARK))["_intervals"]
    rising = np.arange(8.0)
    same = {"a": np.stack([rising] * 3), "b": np.stack([rising**2] * 3)}
    assert intervals(same)["a, b"] == [1.0, 1.0]
    mixed = same | {"b": np.stack([rising, rising, -5 * rising])}
    low, high = intervals(mixed)["a, b"]
    assert low == -1.0
    assert high == 1.0
