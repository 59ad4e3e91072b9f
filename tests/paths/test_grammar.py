"""Path, prediction and time in the string of a network, and in Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sads
from sads.errors import InputError
from sads.path import EDM, PREDICTIONS, TIMES, RectifiedFlow, Schedule, VarianceExploding
from sads.presentation.assumptions import sentence
from sads.specs import NetworkSpec
from sads.specs.paths import NAMES, OPTIONS, stated_by

SMALL = "cnn,width=4,depth=1"
TOLD = st.fixed_dictionaries(
    {},
    optional={
        "prediction": st.sampled_from(sorted(PREDICTIONS)),
        "path": st.sampled_from(sorted(NAMES)),
        "levels": st.integers(21, 500).map(str),
        "time": st.sampled_from(TIMES),
        "reverse": st.just("true"),
    },
)


@given(fields=TOLD, bare=st.booleans(), preset=st.sampled_from(["mlp", "net.py:make"]))
def test_every_option_is_written_as_it_was_read(fields, bare: bool, preset: str):
    options = [
        "reverse" if bare and name == "reverse" else f"{name}={value}"
        for name, value in fields.items()
    ]
    text = ",".join([preset, *options])
    spec = NetworkSpec.parse(text)
    assert str(spec) == text
    assert spec.fields == fields
    assert set(spec.fields) <= set(OPTIONS)
    stated = stated_by(spec.fields)
    assert stated.prediction == fields.get("prediction")
    assert stated.reverse == ("reverse" in fields)
    if "path" in fields:
        assert stated.path is not None
        assert stated.path.kind == NAMES[fields["path"]]
        assert stated.path.steps == int(fields.get("levels", 1000))


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ("", Schedule()),
        (",path=vp", Schedule()),
        (",path=cosine,levels=40", Schedule("cosine", 40)),
        (",prediction=flow", RectifiedFlow()),
        (",prediction=flow,levels=40", RectifiedFlow(40)),
        (",prediction=flow,path=vp", Schedule()),
        (",prediction=flow,path=cosine", Schedule("cosine")),
        (",shift=3", RectifiedFlow(shift=3.0)),
        (",path=ve,prediction=score", VarianceExploding()),
        (",path=edm,prediction=x0", EDM()),
    ],
)
def test_the_path_of_a_string(options: str, path):
    for name in (SMALL, "tests.zoo.foreign:tensors"):
        family = sads.network(name + options, shape=(1, 4, 4))
        assert family.schedule == path
        assert family.name == name + options
        assert sads.network(family.name, shape=(1, 4, 4)).fingerprint == family.fingerprint


def test_fields_and_options_mix_in_any_order():
    family = sads.network("cnn,prediction=flow,width=4,time=unit,depth=1,reverse", shape=(1, 4, 4))
    assert family.name == "cnn,width=4,depth=1,prediction=flow,time=unit,reverse"
    assert (family.prediction, family.time, family.reverse) == ("flow", "unit", True)


def test_keywords_mean_what_options_mean():
    by_text = sads.network(f"{SMALL},prediction=flow", shape=(1, 4, 4))
    by_keyword = sads.network(SMALL, shape=(1, 4, 4), prediction="flow")
    assert by_keyword.schedule == by_text.schedule
    assert by_keyword.fingerprint == by_text.fingerprint
    assert sads.network(SMALL, shape=(1, 4, 4), schedule="edm").schedule == EDM()
    made = sads.network(by_text.factory, shape=(1, 4, 4), prediction="flow")
    assert made.schedule == RectifiedFlow()
    assert sads.ScoreFamily(by_text.factory, (1, 4, 4), prediction="flow").schedule.kind == "flow"
    kept = sads.ScoreFamily(by_text.factory, (1, 4, 4), Schedule(), prediction="flow")
    assert kept.schedule == Schedule()


def test_other_times_have_another_fingerprint_even_where_time_is_not_seen():
    names = [f"dit-2,depth=1,width=24,heads=2{o}" for o in ("", ",time=unit", ",reverse")]
    prints = {sads.network(name, shape=(1, 4, 4)).fingerprint for name in names}
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (",prediction=velocity", "eps, v, x0, flow, score"),
        (",path=straight", "unknown path 'straight'"),
        (",time=seconds", "index, unit, thousand"),
        (",reverse=maybe", "reverse is true or false"),
        (",levels=many", "levels is a whole number"),
        (",levels=5", "at least 21 steps"),
        (",levels=1000000", "at most 100,000 levels"),
        (",path=vp,shift=2", "only the path flow has a shift"),
        (",shift=-1", "positive number"),
        (",path=edm,time=sigma,reverse", "has no reverse"),
    ],
)
def test_bad_options_are_refused(text: str, said: str):
    for name in (SMALL, "tests.zoo.foreign:tensors"):
        with pytest.raises(InputError, match=said):
            sads.network(name + text, shape=(1, 4, 4)).member(0)


def test_two_paths_are_refused():
    with pytest.raises(InputError, match="leave one out"):
        sads.network(f"{SMALL},path=flow", shape=(1, 4, 4), schedule="cosine")
    sads.network(f"{SMALL},path=flow", shape=(1, 4, 4), schedule="flow")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ",prediction=flow",
            "Taken as: velocity of a flow (eps - x_0), rectified flow x_t = (1 - t) x_0 + t eps "
            "with 1000 levels, time passed as `t` = 0..999 (whole numbers).",
        ),
        (
            ",prediction=flow,time=thousand,reverse,shift=3",
            "Taken as: velocity of a flow from noise to data (x_0 - eps), rectified flow x_t = "
            "(1 - t) x_0 + t eps with 1000 levels, shift 3, time passed as `t` = 0.1667..998.5 "
            "(between 0 and 1000, from noise to data).",
        ),
        (
            ",path=edm,prediction=x0,time=sigma",
            "Taken as: prediction of the clean sample (x0), EDM's path x_0 + sigma eps with 1000 "
            "levels, time passed as `t` = 0.002..80 (noise levels).",
        ),
    ],
)
def test_the_line_that_opens_every_result(options: str, said: str):
    family = sads.network(SMALL + options, shape=(1, 4, 4))
    assert sentence(family.assumptions(family.member(0))) == said


def test_other_peoples_flows_get_a_time_in_the_unit_interval():
    family = sads.network("tests.zoo.foreign:flows,prediction=flow", shape=(1, 4, 4))
    taken = family.assumptions(family.member(0))
    assert (taken.time_kind, taken.time_dtype) == ("unit", "float32")
    assert (taken.time_from, taken.time_to) == pytest.approx((0.0005, 0.9995))
    assert taken.hints == ()


def test_a_sweep_carries_paths_in_its_strings():
    names = [SMALL, f"{SMALL},path=flow", f"{SMALL},prediction=flow"]
    trials = [
        sads.Trial(network=n, shape="1x4x4", data="gaussian", protocol=sads.Protocol(), seed=0)
        for n in names
    ]
    assert len({trial.identity() for trial in trials}) == 3
    assert [str(trial.network) for trial in trials] == names


def test_the_identity_of_a_network_without_options_is_as_ever():
    assert NetworkSpec.parse(SMALL).digest() == SMALL
    assert np.isfinite(sads.network(SMALL, shape=(1, 4, 4)).schedule.abar).all()
