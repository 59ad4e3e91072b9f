"""Figures that read rows: planted effects are found, few seeds decide nothing."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from sads.errors import InputError
from sads.figures import READINGS, Verdict
from sads.figures.catalogue import experiment
from sads.figures.data import Data, Request
from sads.figures.figure_6r_risk import shapes
from sads.figures.figure_e_mechanism import GRANTED, PAPER, abs_coefficients, effects
from sads.figures.figure_g_counterexamples import linear_rows
from sads.figures.output import write_figure
from sads.figures.stored_experiments import RISKS, SAMPLED, finished, measured, profile
from sads.figures.style import style
from sads.statistics.ranks import coefficients
from tests.cli.conftest import sads  # noqa: F401 - a fixture

Rows = list[dict]


def line(measure: str, value: float, seed: int, **about) -> dict:
    return {"measure": measure, "step": 450, "value": value, "seed": seed} | about


def noise(rng: np.random.Generator) -> float:
    return 1 + 0.01 * float(rng.standard_normal())


def by_direction(effect: float, seeds: int) -> Rows:
    rng, rows = np.random.default_rng(0), []
    for measure, seed in itertools.product((*RISKS, *SAMPLED), range(seeds)):
        places = range(9) if measure in RISKS else (0, 4, 8)
        for place in places:
            value = (3 - 0.2 * effect * (place - 4)) * noise(rng)
            about = {"network": "cnn", "place": place, "eigenvalue": 9.0 - place}
            rows.append(line(measure, value, seed, **about))
    return rows


def spheres(effect: float, seeds: int) -> Rows:
    rng = np.random.default_rng(0)
    return [
        line(m, (2 + effect * (1 - p)) * noise(rng), s, network="a", place=p, eigenvalue=1.0 - p)
        for m, s, p in itertools.product(
            ("sw2", "risk", "risk_along", "risk_off"), range(seeds), (0, 1)
        )
    ]


def elements(effect: float, seeds: int) -> Rows:
    rng, rows = np.random.default_rng(0), []
    for basis, row, column, seed in itertools.product(
        ("canonical", "dct", "dst", "hadamard", "haar"),
        (0, 5, 10, 15),
        (0, 5, 10, 15),
        range(seeds),
    ):
        value = 40 - effect * np.hypot(row, column)
        if basis in ("canonical", "haar"):
            value = 40 - 30 * effect
            if basis == "canonical" and {row, column}.isdisjoint({0, 15}):
                value += 4 * effect
        about = {"network": "a", "basis": basis, "row": row, "column": column}
        rows += [
            line(m, float(value) * noise(rng), seed, **about)
            for m in ("risk", "risk_along", "risk_off")
        ]
    return rows


def mechanism(effect: float, seeds: int) -> Rows:
    """The paper's network has an effect, each granted property takes it away."""
    rng, rows = np.random.default_rng(0), []
    sizes = {PAPER: 1.0} | {network: 0.1 * k for k, network in enumerate(GRANTED.values(), 1)}
    sizes |= {f"other-{k}": 0.4 + 0.1 * k for k in range(4)}
    for (network, size), seed, place in itertools.product(sizes.items(), range(seeds), (0, 31, 63)):
        about = {"network": network, "place": place}
        ratio = 10.0 * size if place == 0 else 1.0
        value = np.exp(effect * size) if place == 0 else 1.0
        for measure in ("sw2", "risk_along", "risk_off"):
            rows.append(line(measure, float(value) * noise(rng), seed, eigenvalue=ratio, **about))
    return rows


def forecasts(effect: float, seeds: int) -> Rows:
    rng = np.random.default_rng(0)
    return [
        {
            "data": "isotropic",
            "network": f"n{k}",
            "outcome": outcome,
            "forecast": forecast,
            "agreement": 0.9,
            "spearman": 0.9 * effect,
            "ceiling": 0.95,
            "ratio": 0.95 * effect + 0.01 * float(rng.standard_normal()),
        }
        for outcome, forecast in (("early", "drift"), ("late", "G"), ("late", "noise"))
        for k in range(8 if seeds > 1 else 2)
    ]


def orders(effect: float, seeds: int) -> Rows:
    return [
        {
            "quantity": "order",
            "network": f"n{k}",
            "data": "rank-one",
            "measure": "risk",
            "directions": 9,
            "seeds": seeds,
            "value": 0.8 * effect,
            "low": 0.8 * effect - 0.1,
            "high": 0.8 * effect + 0.1,
        }
        for k in range(3)
    ]


PLANTED = {
    "1R": spheres,
    "2R": elements,
    "6R": by_direction,
    "E": mechanism,
    "F": forecasts,
    "G": orders,
}


def judged(key: str, effect: float, seeds: int) -> set[bool | None]:
    return {finding.holds for finding in experiment(key).verdict(PLANTED[key](effect, seeds))}


def test_every_reading_has_planted_rows():
    assert PLANTED.keys() == READINGS.keys()


@pytest.mark.parametrize("key", READINGS)
def test_true_claims_hold_and_false_ones_do_not(key):
    assert judged(key, 1.0, 5) == {True}
    assert judged(key, -1.0, 5) == {False}


@pytest.mark.parametrize("key", READINGS)
def test_fewer_than_five_seeds_decide_nothing(key):
    seeds = 1 if key == "F" else 4  # the unit there is a pair of architecture and dataset
    assert judged(key, 1.0, seeds) == {None}


@pytest.mark.parametrize("key", READINGS)
def test_every_reading_is_drawn(key, tmp_path):
    rows = PLANTED[key](1.0, 5)
    if key == "G":
        rows = [*rows, *linear_rows(chains=2)]
        blank = dict.fromkeys(name for row in rows for name in row)
        rows = [blank | row for row in rows]
    data = Data(rows, {})
    verdict = Verdict(key, experiment(key).verdict(rows), {})
    with style():
        write_figure(tmp_path, "f", data, experiment(key).draw(data), verdict)
    assert (tmp_path / "f.png").stat().st_size > 0


def test_the_shape_of_each_measure_is_named():
    shape_of_measure = shapes(by_direction(1.0, 5))
    assert {key[1] for key in shape_of_measure} == {*RISKS, *SAMPLED}
    assert {shape.name for shape in shape_of_measure.values()} == {"rising"}
    assert {shape.name for shape in shapes(by_direction(-1.0, 5)).values()} == {"falling"}


def test_the_linear_network_has_both_orders():
    *_, early, late = experiment("G").verdict([*orders(1.0, 5), *linear_rows(chains=2)])
    assert (early.holds, late.holds) == (False, True)


def test_effects_are_paired_logarithms():
    rows = [
        line("sw2", value, seed, network=PAPER, place=place, eigenvalue=1.0)
        for place, values in {0: (8.0, 2.0), 31: (2.0, 4.0), 63: (1.0, 1.0)}.items()
        for seed, value in enumerate(values)
    ]
    assert effects(rows, "sw2")[PAPER] == pytest.approx({0: np.log(4), 1: -np.log(2)})


def test_all_orders_are_counted():
    x, y = np.arange(4.0), np.array([2.0, 1.0, 3.0, 4.0])
    expected = sorted(
        abs(float(coefficients(x, y[list(order)])[0]))
        for order in itertools.permutations(range(4))
        if order != (0, 1, 2, 3)
    )
    assert sorted(abs_coefficients(x, y)) == pytest.approx(expected)


def test_measures_are_told_at_every_moment():
    moments = json.dumps([{"step": 150, "risk": 2.0, "nats": None}])
    row = {"protocol_iterations": 450, "moments": moments, "risk": 1.0, "nats": 3.0}
    told = [(m["step"], m["measure"], m["value"]) for m in measured(row, ("risk", "nats"))]
    assert told == [(150, "risk", 2.0), (450, "risk", 1.0), (450, "nats", 3.0)]


def test_profiles_keep_the_seeds_that_all_directions_have():
    rows = [
        line("risk", 10.0 * place + seed, seed, network="a", place=place, eigenvalue=5.0 - place)
        for place, seed in [(1, 0), (1, 1), (0, 1), (0, 2), (2, 1)]
    ]
    own = profile(rows, network="a", measure="risk", step=450)
    assert own is not None
    assert own.places == (0, 1, 2)
    assert own.table.tolist() == [[1.0], [11.0], [21.0]]
    assert own.eigenvalues.tolist() == [5.0, 4.0, 3.0]
    assert profile(rows, network="b") is None


def test_missing_tables_are_refused_in_words(sads, tmp_path):  # noqa: F811
    with pytest.raises(InputError, match=r"benchmarks/claims/mechanism\.toml"):
        finished(tmp_path, "mechanism")
    with pytest.raises(InputError, match="forecast"):
        experiment("F").data(Request("smoke", tmp_path, rows=tmp_path))
    code, _, err = sads("figure", "E", "--rows", str(tmp_path), "--out", str(tmp_path / "out"))
    assert code == 2
    assert "is not there: expected the rows of a registered experiment" in err


@pytest.mark.parametrize("name", ["figure-06", "figure-01", "figure-02", "mechanism", "advice"])
def test_registered_experiments_can_be_read(name):
    """Their specifications are sweeps of five seeds each."""
    from sads.sweep.describe.specification import load_specification

    place = Path(__file__).parents[2] / "benchmarks" / "claims" / f"{name}.toml"
    assert load_specification(place).seeds == (0, 1, 2, 3, 4)
