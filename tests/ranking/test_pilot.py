"""Pilots: errors against closed forms, common noise, interruptions, and orders that are known."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from sads.data import Dataset
from sads.data.laws import Normal
from sads.diffusion import settings_for, train
from sads.directions.sets import ChannelMeans
from sads.errors import InputError
from sads.learning import HeldOut, Optimum, Recipe, Scene, measure_risk, reference_for
from sads.learning.pilot import Training
from sads.networks import ScoreFamily
from sads.path import Schedule
from sads.ranking import PilotProtocol, check_families, rank_families, recipe_of
from sads.ranking import pilot_trainings as pilot_module
from sads.ranking.pilot import run_pilot
from sads.ranking.pilot_trainings import common_errors
from sads.specs.coercion import as_dataset, as_splits

SHAPE = (1, 4, 4)
SHORT = PilotProtocol(steps=4, seeds=2, points=5, batch_size=8)


class Scaled(nn.Module):
    """Predicts a share of the input: what it can learn is one number."""

    def __init__(self, start: float, blind: bool = False):
        super().__init__()
        self.weight, self.blind = nn.Parameter(torch.tensor(start)), blind

    def forward(self, x, t):
        return self.weight * (x - x.mean(dim=(1, 2, 3), keepdim=True) if self.blind else x)


def family(name: str, start: float = 0.5, blind: bool = False) -> ScoreFamily:
    return ScoreFamily(partial(Scaled, start, blind), SHAPE, name=name)


def white(count: int = 200) -> Dataset:
    samples = np.random.default_rng(0).standard_normal((count, *SHAPE)).astype(np.float32)
    return Dataset(samples, "white")


def test_errors_are_those_of_the_risk(tmp_path):
    """The same quantities as `measure_risk`, within its standard errors."""
    data = as_dataset("gaussian", shape=SHAPE)
    reference = reference_for(data)
    assert isinstance(reference, Optimum)
    own = family("scaled")
    trained = train(own, data.samples, settings_for(own, iterations=3, batch_size=8))
    constant, total = common_errors(trained, reference, 400, seed=1)
    directions = ChannelMeans(SHAPE)
    risk = measure_risk(
        trained.predict, reference, own.schedule, SHAPE, directions=directions, tolerance=0.01
    )
    # 8,000 points of our own: their error is about that of the risk at this tolerance.
    assert total == pytest.approx(risk.total, abs=5 * risk.total_error)
    assert constant == pytest.approx(risk.by_direction[0], abs=5 * risk.by_direction_error[0])


def test_candidates_are_measured_at_common_samples():
    """Two networks that are equal have equal errors, to the last bit."""
    data, held_out = as_splits(white())
    reference = HeldOut(held_out.samples.reshape(len(held_out), -1))
    settings = settings_for(family("a"), iterations=2, batch_size=8, seed=3)
    a, b = (train(family(name), data.samples, settings) for name in "ab")
    assert common_errors(a, reference, 10, 3) == common_errors(b, reference, 10, 3)
    assert common_errors(a, reference, 10, 3) != common_errors(a, reference, 10, 4)


def test_a_network_that_does_not_see_the_constant_comes_last():
    ranking = rank_families(
        [family("blind", blind=True), family("seeing")],
        *as_splits(white()),
        pilot=replace(SHORT, steps=20, seeds=4, points=50, learning_rate=0.05),
    )
    assert [entry.network for entry in ranking.entries] == ["seeing", "blind"]
    assert ranking.entries[0].before_next >= 0.95
    assert ranking.entries[1].before_next is None
    assert ranking.ties == ()


def test_equal_candidates_are_not_told_apart():
    ranking = rank_families([family("a"), family("b")], *as_splits(white()), pilot=SHORT)
    assert ranking.ties == (("a", "b"),)
    assert ranking.entries[0].before_next == 0.5
    assert (ranking.method, ranking.seeds, ranking.steps) == ("pilot", 2, 2 * 2 * 4)


def test_the_worse_half_leaves_after_the_first_look(tmp_path):
    families = [family(f"{start:g}", start) for start in (0.9, 0.5, 3.0, 4.0)]
    data, held_out = as_splits(white())
    piloted = run_pilot(families, data.samples, reference_for(held_out), SHORT, tmp_path)
    assert [len(rung) for rung in piloted.rungs] == [4, 2] or piloted.certain
    assert {*piloted.order[2:]} == {"3", "4"}


def test_a_certain_order_ends_the_pilot(tmp_path):
    data, held_out = as_splits(white())
    protocol = replace(SHORT, seeds=4, points=100)
    families = [family("good", 0.7), family("bad", 9.0)]
    piloted = run_pilot(families, data.samples, reference_for(held_out), protocol, tmp_path)
    assert piloted.certain
    assert len(piloted.rungs) == 1
    assert piloted.order == ("good", "bad")


def test_a_stopped_pilot_goes_on(tmp_path, monkeypatch):
    families = [family("a", 0.5), family("b", 0.6), family("c", 0.7)]
    data, held_out = as_splits(white())
    rank = partial(rank_families, families, data, held_out, pilot=SHORT)
    whole = rank(out=tmp_path / "whole")
    real, calls = pilot_module.train, []

    def stopped(*arguments, **options):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(arguments)
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(pilot_module, "train", stopped)
        with pytest.raises(KeyboardInterrupt):
            rank(out=tmp_path / "stopped")
    counted = []
    monkeypatch.setattr(pilot_module, "train", lambda *a, **k: counted.append(a) or real(*a, **k))
    again = rank(out=tmp_path / "stopped")
    timeless = [replace(r, seconds=0.0) for r in (whole, again)]
    assert timeless[0] == timeless[1]
    trainings = sum(1 for _ in (tmp_path / "whole").rglob("step-*.json"))
    assert len(counted) == trainings - 3
    counted.clear()
    assert replace(rank(out=tmp_path / "stopped"), seconds=0.0) == timeless[0]
    assert not counted


def test_other_protocols_do_not_meet(tmp_path):
    families = [family("a", 0.5), family("b", 0.9)]
    splits = as_splits(white())
    first = rank_families(families, *splits, pilot=replace(SHORT, steps=8), out=tmp_path)
    fewer = rank_families(families, *splits, pilot=SHORT, out=tmp_path)
    fresh = rank_families(families, *splits, pilot=SHORT, out=tmp_path / "fresh")
    assert replace(fewer, seconds=0.0) == replace(fresh, seconds=0.0)
    assert first.entries[0].steps in (4, 8)


def test_a_recipe_decides_the_steps_and_a_stopped_pilot_by_it_goes_on(tmp_path):
    """AdamW's decay, a warm-up, a law of timesteps and weights of the loss, all at once."""
    families = [family("a", 0.5), family("b", 0.9)]
    splits = as_splits(white())
    law, weights = np.linspace(0, 1, 1000), np.linspace(2, 1, 1000)
    recipe = Recipe("adamw", 1e-3, SHORT.batch_size, 1.0, 0.5, 3, law, weights)
    rank = partial(rank_families, families, *splits, pilot=SHORT, recipe=recipe)
    told = replace(rank(out=tmp_path / "one"), seconds=0.0)
    plain = rank_families(families, *splits, pilot=SHORT, out=tmp_path / "one")
    assert {e.network: e.value for e in plain.entries} != {e.network: e.value for e in told.entries}
    for file in list((tmp_path / "one").rglob("step-4.json"))[:3]:
        file.unlink()  # as if it had been stopped there
    assert replace(rank(out=tmp_path / "one"), seconds=0.0) == told
    # The same steps by hand.
    followed = Training(
        Scene(
            families[0], HeldOut(splits[0].samples.reshape(len(splits[0]), -1)), Normal.white(16),
            ChannelMeans(SHAPE), recipe,
        ), seed=0,
    )  # fmt: skip
    followed.advance(4)
    reference = reference_for(splits[1])
    piloted = run_pilot(
        families, splits[0].samples, reference, SHORT, tmp_path / "two", recipe=recipe
    )
    expected = common_errors(followed, reference, SHORT.points, 0)
    own = piloted.rungs[-1]["a"]
    assert (own.constant[0], own.total[0]) == expected


@pytest.mark.parametrize(
    ("given", "plain"),
    [({}, True), ({"optimiser": "adamw", "weight_decay": 0.1}, False), ({"warm_up": 3}, False)],
)
def test_only_unusual_steps_need_a_recipe(given, plain):
    usual = {"optimiser": "adam", "weight_decay": 0.0, "warm_up": 0}
    recipe = recipe_of(SHORT, **usual | given, timestep_law=None, loss_weights=None)
    assert (recipe is None) == plain
    assert plain or recipe.batch_size == SHORT.batch_size


def test_progress_counts_trainings():
    told = []
    rank_families(
        [family("a"), family("b")],
        *as_splits(white()),
        pilot=SHORT,
        on_progress=lambda *work: told.append(work),
    )
    assert told == [("a", 0, 8), ("b", 2, 8), ("a", 4, 8), ("b", 6, 8)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seeds": 1}, "at least 2 seeds"),
        ({"steps": 0}, "at least one step"),
        ({"level": 1.0}, "between 0.5 and 1"),
    ],
)
def test_protocols_without_sense(change, said):
    with pytest.raises(InputError, match=said):
        PilotProtocol(**change)


def test_an_unknown_criterion_is_refused_in_words():
    protocol = PilotProtocol()
    object.__setattr__(protocol, "by", "looks")  # the type checker of the tests would not pass it
    with pytest.raises(InputError, match="constant or total, got 'looks'"):
        protocol.__post_init__()


def test_candidates_that_cannot_be_compared():
    with pytest.raises(InputError, match="at least two networks, got 1"):
        check_families([family("a")])
    with pytest.raises(InputError, match="two networks are called a"):
        check_families([family("a"), family("a")])
    other = ScoreFamily(partial(Scaled, 0.5), (1, 8, 8), name="b")
    with pytest.raises(InputError, match="a takes samples of 1x4x4, b of 1x8x8"):
        check_families([family("a"), other])
    cosine = replace(family("b"), schedule=Schedule("cosine"))
    with pytest.raises(InputError, match="give one schedule for all"):
        check_families([family("a"), cosine])
    with pytest.raises(InputError, match="1x4x4, digits has 1x8x8"):
        rank_families([family("a"), family("b")], *as_splits("digits"), pilot=SHORT)


class Answer:
    """What diffusers' models return."""

    def __init__(self, sample):
        self.sample = sample


class AnswersObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, sample, timestep):
        return Answer(self.layer(sample.flatten(1)).view(sample.shape))


def test_modules_that_answer_with_an_object():
    """Baselines and pilots see the adapted network, which once ended in an AttributeError."""
    from sads.ranking.zero_cost import zero_cost_scores

    foreign = ScoreFamily(AnswersObject, SHAPE, name="object")
    ranking = rank_families([foreign, family("a")], *as_splits(white()), pilot=SHORT)
    assert {entry.network for entry in ranking.entries} == {"object", "a"}
    assert zero_cost_scores(foreign, white().samples).parameters == 16 * 17


def test_a_score_that_has_passed_is_used_unless_a_pilot_is_asked_for(monkeypatch):
    monkeypatch.setattr("sads.ranking.ranking.passed", lambda: "parameters")
    narrow, wide = family("a"), ScoreFamily(AnswersObject, SHAPE, name="wide")
    ranking = rank_families([narrow, wide], *as_splits(white()))
    assert (ranking.method, ranking.steps) == ("parameters", 0)
    assert [entry.network for entry in ranking.entries] == ["wide", "a"]
    asked = rank_families([narrow, wide], *as_splits(white()), pilot=SHORT)
    assert asked.method == "pilot"
