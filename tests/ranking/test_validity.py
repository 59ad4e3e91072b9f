"""What the command says of its validity is what the published rows say."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks.ranking import FIRST_POOL, LOW_IS_BETTER, Pool, spearman
from sads.presentation.ranking import validity_sentences
from sads.ranking.validity import ZERO_COST, Validity, measured_validity, passed

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
MEASURED = measured_validity()
POOL = Pool.read(FIRST_POOL, None).networks
DATASETS = sorted({v.dataset for v in MEASURED})
FILES = {"first": "ranking", "second": "ranking-second"}
IN_POOLS = [v for v in MEASURED if v.pool in FILES]
BEFORE_TRAINING = [v for v in IN_POOLS if not v.score.startswith("pilot")]
PILOTS = [v for v in IN_POOLS if v.score.startswith("pilot")]
POOLED = [v for v in MEASURED if v.pool == "both"]


def named(v: Validity) -> str:
    return f"{v.pool}-{v.dataset}-{v.score}"


def rows(name: str) -> list[dict[str, str]]:
    with (RESULTS / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("dataset", DATASETS)
def test_outcomes_are_the_means_over_the_seeds_that_all_networks_have(dataset):
    trials = [r for r in rows("ranking.csv") if r["dataset"] == dataset]
    scores = [r for r in rows("ranking-scores.csv") if r["dataset"] == dataset]
    sw2 = {(t["network"], t["seed"]): float(t["sw2"]) for t in trials}
    seeds = [s for s in {t["seed"] for t in trials} if all((name, s) in sw2 for name in POOL)]
    assert {r["network"] for r in scores} == set(POOL)
    for row in scores:
        assert int(row["seeds"]) == len(seeds) >= 1
        mean = np.mean([sw2[row["network"], seed] for seed in seeds])
        assert float(row["sw2"]) == pytest.approx(mean, rel=1e-4)


def expected(validity: Validity, pool: str) -> tuple[np.ndarray, np.ndarray]:
    """What an order says of the networks of a pool, and how they did."""
    own = [r for r in rows(f"{FILES[pool]}-scores.csv") if r["dataset"] == validity.dataset]
    if validity.score.startswith("pilot"):
        by = validity.score.removeprefix("pilot, ")
        places = {
            row["network"]: float(row["place"])
            for row in rows(f"{FILES[pool]}-pilot.csv")
            if (row["dataset"], row["by"]) == (validity.dataset, by)
        }
        values = [places[row["network"]] for row in own]
    else:
        sign = 1 if validity.score in LOW_IS_BETTER else -1
        values = [sign * float(row[validity.score]) for row in own]
    return np.array(values), np.array([float(row["sw2"]) for row in own])


@pytest.mark.parametrize("validity", POOLED, ids=named)
def test_both_pools_together_are_the_weighted_mean_of_the_two(validity):
    both = [expected(validity, pool) for pool in FILES]
    each = [spearmanr(values, sw2).statistic for values, sw2 in both]
    sizes = [len(sw2) for _, sw2 in both]
    mean = np.average(each, weights=np.array(sizes) - 1)
    assert validity.architectures == sum(sizes)
    assert validity.spearman == pytest.approx(mean, abs=1e-3)
    assert validity.interval[0] <= validity.spearman <= validity.interval[1]


@pytest.mark.parametrize("validity", BEFORE_TRAINING, ids=named)
def test_stated_correlations_are_those_of_the_rows(validity):
    scores = [
        r for r in rows(f"{FILES[validity.pool]}-scores.csv") if r["dataset"] == validity.dataset
    ]
    sign = 1 if validity.score in LOW_IS_BETTER else -1
    values = [sign * float(row[validity.score]) for row in scores]
    sw2 = [float(row["sw2"]) for row in scores]
    assert validity.architectures == len(scores)
    assert validity.spearman == pytest.approx(spearmanr(values, sw2).statistic, abs=1e-3)
    rho, p = spearman(np.array(values), np.array(sw2))
    assert (validity.spearman, validity.p_value) == pytest.approx((rho, p), abs=1e-3)


def test_permutation_p_values_of_small_sets_are_exact():
    x = np.array([1.0, 2, 3, 4, 5])
    assert spearman(x, x) == pytest.approx((1, 2 / 120))
    y = np.array([2.0, 1, 3, 5, 4])
    rho, p = spearman(x, y)
    every = [spearmanr(x, other).statistic for other in itertools.permutations(y)]
    assert rho == pytest.approx(spearmanr(x, y).statistic)
    assert p == pytest.approx(np.mean(np.abs(every) >= abs(rho) - 1e-9))


@pytest.mark.parametrize("validity", PILOTS, ids=named)
def test_stated_correlations_of_pilots_are_those_of_the_rows(validity):
    values, sw2 = expected(validity, validity.pool)
    assert validity.spearman == pytest.approx(spearmanr(values, sw2).statistic, abs=1e-3)


def test_all_scores_of_the_command_are_covered():
    told = {(v.pool, v.dataset, v.score) for v in BEFORE_TRAINING}
    assert "digits" in DATASETS
    scores = ("alignment", *ZERO_COST)
    where = {(v.pool, v.dataset) for v in MEASURED}
    measured = [place for place in where if place[0] in FILES]
    assert told == {(*place, score) for place in measured for score in scores}
    assert len(validity_sentences()) == len(where) + 1
    for measured in MEASURED:
        assert measured.interval[0] <= measured.spearman <= measured.interval[1]


def test_a_score_passes_if_it_is_right_on_every_dataset(monkeypatch):
    def measured(*rows: tuple[str, str, float, float]):
        values = tuple(Validity(d, s, 12, rho, (rho, rho), p) for d, s, rho, p in rows)
        monkeypatch.setattr("sads.ranking.validity.measured_validity", lambda: values)
        return passed()

    assert measured(("a", "synflow", 0.8, 0.01), ("b", "synflow", 0.7, 0.02)) == "synflow"
    assert measured(("a", "synflow", 0.8, 0.01), ("b", "synflow", 0.7, 0.2)) is None
    assert measured(("a", "synflow", -0.8, 0.01)) is None
    # The alignment's result stays, but nothing is ranked by it.
    assert measured(("a", "alignment", 0.8, 0.01)) is None
    assert measured(("a", "synflow", 0.6, 0.01), ("a", "jacobian", 0.7, 0.01)) == "jacobian"


def test_no_score_of_untrained_networks_has_passed():
    assert passed() is None
