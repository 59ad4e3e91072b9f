"""The committed verdicts are those of the committed rows, to the last digit of their intervals."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from sads.figures import FIGURES, Verdict
from sads.figures.catalogue import experiment, file_name
from sads.sweep.correlation import correlate

RESULTS = Path(__file__).parents[2] / "docs" / "results"
GOLDEN = Path(__file__).parents[1] / "golden" / "verdicts-2.json"
PROTOCOL = "protocol_"


def cell(text: str) -> Any:
    """A cell of a table as what it was before it was written."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def committed_rows(key: str) -> list[dict[str, Any]]:
    with open(RESULTS / f"{file_name(key)}.csv", newline="") as file:
        flat = [{name: cell(text) for name, text in row.items()} for row in csv.DictReader(file)]
    return [
        {name: value for name, value in row.items() if not name.startswith(PROTOCOL)}
        | {"protocol": {n.removeprefix(PROTOCOL): row[n] for n in row if n.startswith(PROTOCOL)}}
        for row in flat
    ]


@pytest.mark.parametrize("key", FIGURES)
def test_a_committed_verdict_follows_from_its_rows(key):
    """Values and verdicts of the results; intervals as in the golden file.

    The intervals of figures 2, 6, A and B in the results are bootstraps of the first version of the
    random draws, so the golden file has those of the second.
    """
    committed = json.loads((RESULTS / f"{file_name(key)}.json").read_text())["findings"]
    computed = Verdict(key, experiment(key).verdict(committed_rows(key)), {}).summary()["findings"]
    golden = json.loads(GOLDEN.read_text())["findings"][key]
    for now, before, (value, interval, holds) in zip(computed, committed, golden, strict=True):
        assert (now["claim"], now["statistic"]) == (before["claim"], before["statistic"])
        assert now["holds"] == before["holds"] == holds
        assert now["value"] == value == pytest.approx(before["value"], rel=1e-12)
        assert now["interval"] == interval


def test_the_committed_correlation_follows_from_its_rows():
    (correlation,) = correlate(committed_rows("6"), "msw2")
    golden = json.loads(GOLDEN.read_text())["figure 6"]["nearest"]
    for name in ("spearman", "kendall"):
        coefficient = getattr(correlation, name)
        assert [coefficient.value, coefficient.p_value, list(coefficient.interval)] == golden[name]
    assert [correlation.contrast, correlation.contrast_error] == golden["contrast"]
