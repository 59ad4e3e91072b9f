"""Splits: disjoint, complete and the same for every seed and count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sads.data import Selection
from sads.errors import InputError

totals, seeds = st.integers(2, 400), st.integers(0, 2**40)


@given(totals, st.data())
def test_train_and_held_out_never_meet(total, data):
    """Whatever the seeds and counts on either side."""
    sides = []
    for split in ("train", "held-out"):
        size = len(Selection(split).order(total))
        count = data.draw(st.none() | st.integers(1, size))
        sides.append(set(Selection(split, count, data.draw(seeds)).rows(total, "x").tolist()))
    assert not sides[0] & sides[1]


@given(totals)
def test_the_splits_make_the_whole(total):
    train, held_out = (Selection(s).rows(total, "x") for s in ("train", "held-out"))
    assert np.array_equal(np.sort(np.concatenate([train, held_out])), np.arange(total))
    assert len(held_out) == max(1, total // 6)


def test_the_held_out_part_is_spread_over_the_set():
    rows = Selection("held-out").rows(6000, "x")
    assert abs(rows.mean() - 3000) < 150  # not the end of a sorted set


@given(totals, seeds, st.data())
def test_a_draw_is_without_replacement_and_repeatable(total, seed, data):
    count = data.draw(st.integers(1, total))
    rows = Selection(None, count, seed).rows(total, "x")
    assert len(set(rows.tolist())) == count
    assert np.array_equal(rows, Selection(None, count, seed).rows(total, "x"))


def test_a_larger_count_extends_a_smaller_one_and_seeds_differ():
    few, many = (Selection("train", n, 7).rows(500, "x") for n in (10, 200))
    assert np.array_equal(few, many[:10])
    assert not np.array_equal(few, Selection("train", 10, 8).rows(500, "x"))


def test_everything_keeps_its_order():
    assert Selection().rows(5, "x").tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("total", "options", "message"),
    [
        (10, {"count": 11}, "x has 10 samples, asked for 11"),
        (12, {"count": 3, "split": "held-out"}, "x has 2 held-out samples, asked for 3"),
        (1, {"split": "train"}, "at least 2 samples"),
    ],
)
def test_more_than_there_is(total, options, message):
    with pytest.raises(InputError, match=message):
        Selection(**options).rows(total, "x")


@pytest.mark.parametrize("options", [{"count": 0}, {"count": -3}, {"seed": -1}, {"split": "test"}])
def test_choices_that_make_no_sense(options):
    with pytest.raises(InputError):
        Selection(**options)
