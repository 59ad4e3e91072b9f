"""The summary on the command line."""

import json


def test_the_command_prints_the_table_and_json(sads):
    code, out, _ = sads("summary", "mlp,width=8,depth=1", "--shape", "1x4x4", "--networks", "24")
    assert code == 0
    assert "anisotropy" in out
    code, out, _ = sads(
        "summary", "cnn,width=8,depth=1", "--shape", "1x4x4", "--networks", "24", "--json"
    )
    assert code == 0
    values = json.loads(out)
    assert values["parameters"] == 225
    assert {"findings", "effective_directions", "places", "learned_last", "next"} <= {*values}
    code, _, err = sads("summary", "nothing-like-this")
    assert code == 2
    assert err.count("\n") == 1
    code, _, err = sads("summary", "mlp,width=8,depth=1", "--shape", "1x4x4", "--networks", "3")
    assert (code, err.count("\n")) == (2, 1)
    assert "at least 12 networks, got 3" in err
