"""Verdicts on planted data: true claims hold, false ones do not, little data decides nothing."""

import json
import math

import pytest

from sads.data import BASES
from sads.figures import FIGURES, Finding, Verdict
from sads.figures.catalogue import experiment
from sads.figures.verdict import without_power

from .planted import PLANTED

SEEDS = 5


def judged(key: str, effect: float, seeds: int) -> list[bool | None]:
    return [finding.holds for finding in experiment(key).verdict(PLANTED[key](effect, seeds))]


def test_every_figure_has_planted_data():
    assert PLANTED.keys() == FIGURES.keys()


@pytest.mark.parametrize("key", FIGURES)
def test_a_true_claim_holds(key):
    assert set(judged(key, 1.0, SEEDS)) == {True}


@pytest.mark.parametrize("key", FIGURES)
def test_a_false_claim_does_not(key):
    assert set(judged(key, -1.0, SEEDS)) == {False}


@pytest.mark.parametrize("key", [k for k in FIGURES if k != "3"])
def test_one_seed_decides_nothing_statistical(key):
    # Figure 3 of one network still says that rounding is rounding.
    exact = {"4": {True, None}, "5": {True, None}}
    assert set(judged(key, 1.0, 1)) <= exact.get(key, {None})
    assert None in judged(key, 1.0, 1)


@pytest.mark.parametrize("basis", BASES)
def test_every_basis_alone_has_a_verdict(basis):
    rows = [row for row in PLANTED["2"](1.0, SEEDS) if row["basis"] == basis]
    verdict = Verdict("2", experiment("2").verdict(rows), {})
    # Where elements of Haar's basis stand says nothing without another basis.
    assert verdict.summary()["holds"] is (None if basis == "haar" else True)


def test_a_verdict_holds_if_all_its_claims_do():
    finding = Finding("claim", "statistic", 1.0, (0.5, 1.5), True)
    false, open_ = (Finding("c", "s", None, None, holds) for holds in (False, None))
    assert Verdict("1", (finding, finding), {}).holds is True
    assert Verdict("1", (finding, open_), {}).holds is None
    assert Verdict("1", (open_, false), {}).holds is False
    assert Verdict("1", without_power((finding, false)), {}).holds is None


def test_a_summary_is_plain_json():
    nan = Finding("claim", "statistic", math.nan, (math.nan, 1.0), None)
    summary = Verdict("6", (nan,), {"scale": "smoke"}).summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["value"] is None
    assert summary["interval"] is None
    assert {"claim", "statistic", "value", "interval", "holds", "protocol"} <= summary.keys()


def test_a_summary_shows_the_finding_that_decides():
    true, false, unknown = (
        Finding(name, "statistic", 1.0, None, holds)
        for name, holds in (("a", True), ("b", False), ("c", None))
    )
    assert Verdict("1", (true, unknown, false), {}).summary()["claim"] == "b"
    assert Verdict("1", (true, unknown), {}).summary()["claim"] == "c"
    assert Verdict("1", (true, true), {}).summary()["claim"] == "a"
