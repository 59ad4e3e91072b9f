"""Rankings on the command line."""

import json

import pytest

NETWORKS = ("mlp,width=16", "cnn,width=8,depth=2")


SHORT = ("--steps", "4", "--seeds", "2")


def test_json_has_what_it_promises(sads):
    command = ("rank", "--pilot", "--data", "digits", "--shape", "1x8x8", *NETWORKS, *SHORT)
    code, out, err = sads(*command, "--json")
    assert (code, err) == (0, "")
    printed = json.loads(out)
    assert printed["shape"] == [1, 8, 8]
    assert {row["network"] for row in printed["ranking"]} == {*NETWORKS}
    assert (printed["method"], printed["by"], printed["level"]) == ("pilot", "constant", 0.95)
    first, second = printed["ranking"]
    assert first["value"] == first["constant"] <= second["constant"]
    assert 0.5 <= first["before_next"] <= 1
    assert second["before_next"] is None
    assert printed["cost"]["seeds"] == 2
    assert printed["cost"]["steps"] == 2 * (first["steps"] + second["steps"])
    assert 0 < printed["cost"]["share_of_training"] < 0.1
    assert {v["score"] for v in printed["validity"]} >= {"alignment", "parameters", "synflow"}


def test_words_give_order_certainty_and_cost(sads, tmp_path):
    networks = ("mlp,width=8", "mlp,width=9")
    command = ("rank", "--data", "digits", "--shape", "1x8x8", *networks, *SHORT)
    code, out, err = sads(*command, "--out", str(tmp_path))
    assert (code, err) == (0, "")
    assert "probability that a network does better than the next one" in out
    assert "Cost: 2 trainings of each network" in out
    assert "Before: " in out or "has not been measured" in out
    again = sads(*command, "--out", str(tmp_path))[1]
    assert again == out


def test_trainings_of_ones_own(sads):
    own = ("--optimiser", "adamw", "--weight-decay", "0.1", "--warm-up", "2", "--batch-size", "8",
           "--timestep-law", "logit-normal:0,1", "--loss-weights", "min-snr:5")  # fmt: skip
    command = ("rank", "--data", "digits", "--shape", "1x8x8", "mlp,width=8", "mlp,width=9")
    runs = [sads(*command, *SHORT, *more, "--json") for more in ((), own)]
    assert [code for code, _, _ in runs] == [0, 0]
    plain, unusual = (json.loads(out)["ranking"][0]["total"] for _, out, _ in runs)
    assert plain != unusual


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--weight-decay", "1"), "adamw"),
        (("--timestep-law", "beta"), "unknown law of timesteps"),
        (("--seeds", "1"), "at least 2 seeds"),
        (("--by", "looks"), '"constant", "total"'),
        (("--level", "2"), "between 0.5 and 1"),
    ],
)
def test_bad_pilots(sads, options, said):
    command = ("rank", "--pilot", "--data", "digits", "--shape", "1x8x8", *NETWORKS)
    code, out, err = sads(*command, *options)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mlp",), "at least two"),
        (("mlp", "iddpm-mnist"), "choose one shape"),
        (("mlp", "mlp"), "two networks are called mlp"),
        (("mlp", "nonsense"), "unknown network"),
    ],
)
def test_bad_networks(sads, arguments, said):
    code, out, err = sads("rank", "--data", "digits", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_data_of_another_shape(sads):
    code, out, err = sads("rank", "--data", "digits,size=9", "mlp", "cnn")
    assert (code, out) == (2, "")
    assert "1x9x9" in err
    assert "1x16x16" in err
