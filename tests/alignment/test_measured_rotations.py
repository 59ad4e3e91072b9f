"""What commands say of measured rotations is what the published rows say."""

import csv
from pathlib import Path
from statistics import median

import pytest

from benchmarks.rotations import TOLD
from sads.alignment.measured_rotations import measured_rotations
from sads.presentation.alignment import measured_sentences

TABLE = Path(__file__).resolve().parents[2] / "docs" / "results" / "rotations.csv"


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("measured", measured_rotations(), ids=str)
def test_stated_distances_are_those_of_the_rows(measured):
    kind = (measured.rotation, str(measured.rank or ""), str(measured.steps))
    published = {
        row["seed"]: float(row["sw2"])
        for row in rows()
        if TOLD[row["data"]] == measured.data
        and (row["rotation"], row["rank"], row["steps"]) == kind
    }
    assert len(published) == 5
    assert sorted(published.values()) == sorted(measured.sw2)


def test_random_was_ahead_after_shorter_trainings():
    """As the last sentence says."""
    known = {(m.data, m.rotation, m.rank, m.steps): median(m.sw2) for m in measured_rotations()}
    for data in TOLD.values():
        short = min(steps for name, _, _, steps in known if name == data)
        assert known[data, "random", None, short] < known[data, "min", None, short] / 1.4


def test_a_sentence_for_each_dataset():
    first, second, advice = measured_sentences()
    assert "8x8 digits, 600 steps" in first
    assert "1.1 (0.53 to 2.2) as it is, 0.19 (0.17 to 0.21) under min" in first
    assert "0.36 (0.15 to 4.5) under min of rank 1" in second
    assert "random" in advice
