"""What commands say of measured rotations is what the published rows say."""

import csv
import json
from pathlib import Path

import pytest
from scipy.stats import ttest_1samp

from sads.alignment.measured_rotations import (
    LOSSES,
    SEES_TIME,
    TIME_BLIND,
    loss_range,
    measured_rotations,
    outcomes,
)
from sads.presentation.alignment import measured_sentences, outcome_sentences

TABLE = Path(__file__).resolve().parents[2] / "docs" / "results" / "rotations.csv"
PUBLISHED = {"8x8 digits": "digits", "16x16 MNIST": "mnist"}
STEPS = {("8x8 digits", 150), ("8x8 digits", 600), ("16x16 MNIST", 250), ("16x16 MNIST", 1000)}


def published(data: str, steps: int, rotation: str, rank: int | None = None) -> dict[str, float]:
    with TABLE.open(newline="") as file:
        return {
            row["seed"]: float(row["sw2"])
            for row in csv.DictReader(file)
            if (row["data"], int(row["steps"])) == (PUBLISHED[data], steps)
            and (row["rotation"], row["rank"]) == (rotation, str(rank or ""))
        }


def test_stated_distances_are_those_of_the_rows():
    own = [row for row in measured_rotations() if (row.data, row.steps) in STEPS]
    assert len(own) == 16  # four rotations, two datasets, two budgets
    for row in own:
        rows = published(row.data, row.steps, row.rotation, row.rank)
        assert row.network == TIME_BLIND
        assert row.sw2 == pytest.approx([rows[seed] for seed in sorted(rows)], rel=1e-3)


def test_rows_of_few_seeds_are_not_spoken_of():
    assert all(len(row.sw2) >= 5 for row in measured_rotations())


@pytest.mark.parametrize(("one", "other"), [("min", "identity"), ("random", "min")])
def test_outcomes_are_those_of_paired_tests(one, other):
    words = {"better": 0, "worse": 0, "open": 0}
    runs = {(r.data, r.steps) for r in measured_rotations() if r.network == TIME_BLIND}
    for data, steps in runs:
        first, second = (
            next(
                row.sw2
                for row in measured_rotations()
                if (row.network, row.data, row.steps) == (TIME_BLIND, data, steps)
                and (row.rotation, row.rank) == (kind, None)
            )
            for kind in (one, other)
        )
        gaps = [a - b for a, b in zip(first, second, strict=True)]
        decided = ttest_1samp(gaps, 0).pvalue < 0.05
        words["open" if not decided else "better" if sum(gaps) < 0 else "worse"] += 1
    assert {word: outcomes(TIME_BLIND, one, other)[word] for word in words} == words


def test_a_sentence_for_each_dataset():
    first, second, *_ = measured_sentences()
    assert "8x8 digits, 600 steps of iddpm-16" in first
    assert "1.1 (0.53 to 2.2) as it is, 0.19 (0.17 to 0.21) under min" in first
    assert "0.36 (0.15 to 4.5) under min of rank 1" in second
    assert "does not see the time" in outcome_sentences()[0]


def test_what_a_rotation_costs_is_told_beside_what_it_gains():
    """Over all datasets and frequencies of a network; what was not measured is not told."""
    rows = json.loads(LOSSES.read_text())
    own = [row for row in rows if (row["network"], row["rotation"]) == (SEES_TIME, "random")]
    times = [value for row in own for value in row["times"]]
    assert loss_range(SEES_TIME, "random") == (min(times), max(times))
    assert f"was {min(times):.2g} to {max(times):.2g} times" in " ".join(outcome_sentences())
    assert loss_range("cnn", "random") is None
