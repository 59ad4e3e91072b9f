"""Rankings on the command line."""

import json

import pytest

NETWORKS = ("mlp,width=16", "cnn,width=8,depth=2")


def test_json_has_what_it_promises(sads):
    code, out, err = sads("rank", "--data", "digits", "--shape", "1x8x8", *NETWORKS, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["shape"] == [1, 8, 8]
    assert [row["network"] for row in found["ranking"]] == list(NETWORKS)
    first, second = found["ranking"]
    assert first["score"] == pytest.approx(1)
    assert second["score"] > 1 + 4 * second["score_error"]
    assert first["below_next"] > 0.95
    assert found["ties"] == []
    assert second["parameters"] == 881
    assert all(isinstance(row["synflow"], float) for row in found["ranking"])
    assert all(row["jacobian_error"] > 0 for row in found["ranking"])
    assert {v["score"] for v in found["validity"]} >= {"alignment", "parameters", "synflow"}


def test_words_say_how_far_the_score_can_be_trusted(sads):
    code, out, _ = sads("rank", "--data", "digits", "--shape", "1x8x8", "mlp", "mlp,width=8")
    assert code == 0
    assert "Not told apart (probability below 0.95): mlp, mlp,width=8." in out
    assert "Measured validity, 12 small networks trained on digits" in out


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
