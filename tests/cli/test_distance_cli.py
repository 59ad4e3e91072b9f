"""Distances on the command line."""

import json

import numpy as np
import pytest


def test_json_has_what_it_promises(sads, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", rng.standard_normal((300, 1, 2, 2)))
    shift = np.array([3.0, 0, 0, 0]).reshape(2, 2)
    np.save(tmp_path / "b.npy", rng.standard_normal((200, 1, 2, 2)) + shift)
    arguments = ["distance", f"npy:{tmp_path}/a.npy", f"npy:{tmp_path}/b.npy", "--json"]
    code, out, _ = sads(*arguments, "--projections", "500")
    assert code == 0
    printed = json.loads(out)
    assert printed["projections"] == 500
    # A shift of 3 in one of four coordinates: SW2 = 3/2, MSW2 = 3.
    assert printed["sw2"] == pytest.approx(1.5, abs=0.15)
    assert printed["msw2_optimised"] == pytest.approx(3, abs=0.4)
    assert printed["msw2"] <= 3.4
    assert printed["p_value"] <= 0.01
    assert printed["msw2_null"] < 1
    assert printed["w2_direction"] is None
    assert sads(*arguments, "--projections", "500", "--seed", "0")[1] == out


def test_rank_one_data_is_compared_with_its_exact_law(sads):
    arguments = ["rank-one:dct:3,count=2000,seed=1", "rank-one:dct:3,count=2000,split=held-out"]
    code, out, _ = sads("distance", *arguments, "--shape", "1x4x4", "--json", "--projections", "64")
    assert code == 0
    printed = json.loads(out)
    assert 0 < printed["w2_direction"] < 0.5  # 2,000 samples of N(0, 16)
    assert printed["p_value"] > 0.001


def test_nothing_is_measured_against_training_data(sads):
    code, out, _ = sads("distance", "digits", "digits,split=held-out", "--json")
    assert code == 0
    assert json.loads(out)["sw2"] == 0
    code, out, _ = sads("distance", "digits,split=train", "digits", "--json", "--projections", "1")
    assert json.loads(out)["sw2"] > 0
    assert json.loads(out)["standard_error"] is None


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("digits", "digits,size=9", "9x9"),
        ("digits", "nothing", "unknown data"),
        ("rank-one:dct:0", "rank-one:dct:1", "shape"),
    ],
)
def test_sets_that_cannot_be_compared(sads, a, b, said):
    code, out, err = sads("distance", a, b)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err
