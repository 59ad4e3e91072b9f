"""`sads risk` as a user meets it."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

NETWORK = "cnn,width=8,depth=2"
RANK_ONE = "rank-one:dct:1"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    import sads

    folder = tmp_path_factory.mktemp("trainings")
    options = {"shape": "1x4x4", "batch_size": 16, "learning_rate": 1e-2}
    for name, steps in (("short", 5), ("long", 200)):
        sads.train(NETWORK, RANK_ONE, iterations=steps, out=folder / name, **options)
    sads.train(
        NETWORK, RANK_ONE, iterations=200, rotation="random", out=folder / "turned", **options
    )
    return {name: str(folder / name) for name in ("short", "long", "turned")}


def _risk(sads, *arguments):
    code, out, err = sads("risk", *arguments, "--tolerance", "0.05", "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_in_words_json_and_a_picture(sads, runs, tmp_path):
    picture = tmp_path / "risk.png"
    code, out, err = sads("risk", runs["long"], "--data", RANK_ONE, "--png", str(picture))
    assert (code, err) == (0, "")
    assert "Excess risk over the optimum" in out
    assert "Along the data's subspace" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    told = _risk(sads, runs["long"], "--data", RANK_ONE, "--directions", "dct:bands=3")
    assert told["exact"]
    assert told["total"] == pytest.approx(told["along"] + told["off"])
    assert told["total_error"] < 0.06 * told["total"]
    assert sum(row["risk"] for row in told["by_direction"]) == pytest.approx(told["total"])
    assert np.mean([row["risk"] for row in told["by_timestep"]]) == pytest.approx(told["total"])
    assert np.array(told["table"]).shape == (3, len(told["by_timestep"]))
    assert told["by_timestep"][-1]["last"] == 999


def test_training_lowers_the_risk_and_the_difference_says_by_how_much(sads, runs):
    short, long = (_risk(sads, runs[name], "--data", RANK_ONE) for name in ("short", "long"))
    assert long["total"] < short["total"]
    both = _risk(sads, runs["short"], runs["long"], "--data", RANK_ONE)
    apart = long["total"] - short["total"]
    error = np.hypot(both["total_error"], np.hypot(long["total_error"], short["total_error"]))
    assert abs(both["total"] - apart) < 4 * error


def test_other_data_have_a_loss_and_say_what_they_lack(sads, runs):
    data = "digits,size=4"
    told = _risk(sads, runs["long"], "--data", data)
    assert not told["exact"]
    assert told["along"] is None
    code, out, _ = sads("risk", runs["long"], "--data", data, "--tolerance", "0.1")
    assert code == 0
    assert "no network can avoid" in out
    gaussian = _risk(sads, runs["long"], "--data", f"gaussian:moment={data}")
    assert gaussian["exact"]


def test_a_network_trained_on_rotated_data_is_judged_in_the_coordinates_of_the_data(sads, runs):
    """Turned there and back its risk is small; the rotated network itself is far off."""
    turned = _risk(sads, runs["turned"], "--data", RANK_ONE)
    untrained = _risk(sads, runs["short"], "--data", RANK_ONE)
    assert turned["total"] < untrained["total"]


@pytest.mark.parametrize("prefix", ["", "module.", "ema_model.module.", "net_ema.diffusion."])
def test_weights_of_a_model_trained_elsewhere(sads, runs, tmp_path, prefix):
    from sads import load_trained

    member = load_trained(runs["long"]).network
    state = {f"{prefix}{name}": value for name, value in member.state_dict().items()}
    save_file(state | {"optimiser.step": torch.ones(1)}, tmp_path / "w.safetensors")
    options = ("--shape", "1x4x4", "--data", RANK_ONE)
    own = _risk(sads, NETWORK, "--weights", str(tmp_path / "w.safetensors"), *options)
    assert own["total"] == _risk(sads, runs["long"], "--data", RANK_ONE)["total"]


def _both(folder, runs):
    """A file with the short training's parameters and, as their average, the long one's."""
    from sads import load_trained

    plain, average = (load_trained(runs[name]).network.state_dict() for name in ("short", "long"))
    save_file(
        {f"model.{name}": value for name, value in plain.items()}
        | {f"ema.{name}": value for name, value in average.items()},
        folder / "both.safetensors",
    )
    return str(folder / "both.safetensors")


def test_the_average_is_chosen_in_a_file_that_holds_both(sads, runs, tmp_path):
    options = (NETWORK, "--shape", "1x4x4", "--data", RANK_ONE, "--weights")
    file = _both(tmp_path, runs)
    for name, prefix in (("short", "model"), ("long", "ema.")):
        told = _risk(sads, *options, f"{file}:{prefix}")
        assert told["total"] == _risk(sads, runs[name], "--data", RANK_ONE)["total"]
    code, out, err = sads("risk", *options, f"{file}:shadow")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "under 'shadow.': they are under 'ema.', 'model.'" in err


def test_two_checkpoints_of_one_network_are_compared(sads, runs, tmp_path):
    file, picture = _both(tmp_path, runs), tmp_path / "pair.png"
    options = (NETWORK, "--shape", "1x4x4", "--data", RANK_ONE)
    two = ("--weights", f"{file}:model", "--weights", f"{file}:ema")
    told = _risk(sads, *options, *two, "--png", str(picture))
    assert told["paired"]
    assert told["total"] == _risk(sads, runs["short"], runs["long"], "--data", RANK_ONE)["total"]
    code, out, _ = sads("risk", *options, *two, "--tolerance", "0.1")
    assert code == 0
    assert "second minus first" in out
    code, _, err = sads("risk", *options, *two, "--weights", file)
    assert code == 2
    assert "got 3 files" in err


def test_the_picture_names_both_trainings_and_what_is_drawn(runs):
    import sads
    from sads.cli.risk import _named
    from sads.presentation.plots.risk import draw_risk

    risk = sads.risk(runs["short"], runs["long"], data=RANK_ONE, tolerance=0.2)
    figure = draw_risk(risk, _named("short", "long", []))
    texts = {text.get_text() for text in figure.findobj(match=lambda a: hasattr(a, "get_text"))}
    assert "long minus short" in texts
    assert "Excess risk over the optimum, second minus first, a direction" in texts
    figure.canvas.draw()
    labels = [axes.xaxis.label.get_window_extent() for axes in figure.axes]
    assert max(box.x1 for box in labels) <= figure.bbox.x1


def _weights(folder, kind):
    from sads import network

    state = network(NETWORK, shape="1x4x4").member(0).state_dict()
    if kind == "other names":
        state = {name.replace(".", "_"): value for name, value in state.items()}
    if kind == "other shapes":
        state = {name: torch.zeros(3) for name in state}
    if kind == "twice":
        state |= {f"ema.{name}": value + 1 for name, value in state.items()}
    path = folder / "w.safetensors"
    save_file(state, path)
    if kind == "damaged":
        path.write_bytes(path.read_bytes()[:100])
    return str(path)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("other names", "names are missing"),
        ("other shapes", "the network has"),
        ("twice", "holds the parameters more than once"),
        ("damaged", "not a safetensors file"),
    ],
)
def test_foreign_weights_are_refused(sads, tmp_path, kind, message):
    path = _weights(tmp_path, kind)
    code, out, err = sads(
        "risk", NETWORK, "--shape", "1x4x4", "--weights", path, "--data", RANK_ONE
    )
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "digits,size=4", "--exact"), "gaussian:moment=DATA"),
        (("--data", RANK_ONE, "--directions", "fourier"), "unknown directions 'fourier'"),
        (("--data", RANK_ONE, "--directions", "dct:bands=99"), "1 to 16, got 99"),
        (("--data", RANK_ONE, "--directions", "npy:other.npy"), "columns of 16 entries"),
        (("--data", RANK_ONE, "--tolerance", "0"), "between 0 and 1"),
        (("--data", "digits,size=8"), "expected 1x4x4"),
    ],
)
def test_bad_input_is_one_line(sads, runs, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    np.save("other.npy", np.eye(5))
    code, out, err = sads("risk", runs["long"], *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_training_has_weights_of_its_own(sads, runs):
    code, out, err = sads("risk", runs["long"], "--weights", "w.safetensors", "--data", RANK_ONE)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "has weights of its own" in err


def test_trainings_of_other_shapes_are_not_compared(sads, runs, tmp_path):
    import sads as package

    other = tmp_path / "other"
    package.train(NETWORK, "rank-one:dct:1", shape="1x2x2", iterations=1, batch_size=4, out=other)
    code, _, err = sads("risk", runs["long"], str(other), "--data", RANK_ONE)
    assert code == 2
    assert "not comparable" in err


def test_a_training_of_a_network_that_has_changed_since_is_refused(sads, tmp_path):
    import sads as package

    file, out = tmp_path / "net.py", tmp_path / "out"
    source = (
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.last = torch.nn.Conv2d(1, 1, SIZE, padding='same')\n"
        "    def forward(self, x, t):\n"
        "        return self.last(x)\n"
        "def make():\n"
        "    return Net()\n"
    )
    file.write_text(source.replace("SIZE", "3"))
    options = {"shape": "1x4x4", "iterations": 1, "batch_size": 4, "out": out}
    package.train(f"{file}:make", "rank-one:dct:1", **options)
    assert sads("risk", str(out), "--data", RANK_ONE, "--tolerance", "0.2")[0] == 0
    file.write_text(source.replace("SIZE", "1"))
    code, said, err = sads("risk", str(out), "--data", RANK_ONE)
    assert (code, said) == (2, "")
    assert err.count("\n") == 1
    assert "was trained with another version of" in err


def test_the_total_weighs_timesteps_as_a_loss_does(sads, runs, tmp_path):
    """A loss that sees one stratum alone has that stratum's risk."""
    whole = _risk(sads, runs["short"], "--data", RANK_ONE)
    law = np.zeros(1000)
    law[500:550] = 1
    np.save(tmp_path / "law.npy", law)
    law_file = f"npy:{tmp_path / 'law.npy'}"
    part = _risk(sads, runs["short"], "--data", RANK_ONE, "--timestep-law", law_file)
    row = whole["by_timestep"][10]
    assert (row["first"], row["last"]) == (500, 549)
    error = np.hypot(part["total_error"], row["error"])
    assert abs(part["total"] - row["risk"]) < 4 * error


def test_the_risk_of_a_mixture_is_exact(sads, tmp_path):
    means = np.stack([np.full((1, 2, 2), -2.0), np.full((1, 2, 2), 1.0)])
    np.savez(tmp_path / "two.npz", means=means, deviations=[0.5, 0.5])
    text, run = f"mixture:{tmp_path / 'two.npz'}", str(tmp_path / "run")
    options = ("--data", text, "--iterations", "3", "--batch-size", "4", "--out", run)
    assert sads("train", "mlp", "--shape", "1x2x2", *options)[0] == 0
    assert _risk(sads, run, "--data", text, "--exact")["exact"]
    code, _, err = sads("risk", run, "--data", f"mixture:{tmp_path / 'none.npz'}")
    assert code == 2
    assert err.count("\n") == 1
