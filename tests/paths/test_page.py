"""The page about parametrisations says what its rows say."""

import csv
import json
import runpy
import tomllib
from pathlib import Path

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
